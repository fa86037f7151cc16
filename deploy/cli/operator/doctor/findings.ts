/** The findings of a check, with advice. */
import { withDeadline } from '../../../../pipeline/runtime/deadline.ts';

export interface Finding {
  check: string;
  /** A warning breaks nothing now. */
  state: 'ok' | 'warning' | 'problem';
  found: string;
  advice?: string;
}

/** The findings of one check. */
export const about = (check: string) => ({
  ok: (found: string): Finding => ({ check, state: 'ok', found }),
  warning: (found: string, advice: string): Finding => ({ check, state: 'warning', found, advice }),
  problem: (found: string, advice: string): Finding => ({ check, state: 'problem', found, advice }),
});

/** `good` if nothing was found. */
export const unless = (found: Finding[], good: Finding): Finding[] => (found.length > 0 ? found : [good]);

const MAX_CHECK_MS = 60_000;

/** A timeout is a finding, too. */
export async function examine(
  check: string,
  advice: string,
  work: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await withDeadline(MAX_CHECK_MS, work());
  } catch (error) {
    return [about(check).problem(error instanceof Error ? error.message : String(error), advice)];
  }
}

const MAX_SKEW_MS = 5_000;

/** `theirs` was read between our two times, rounded to `precisionMs`. */
export function clockFinding(
  check: string,
  {
    before,
    after,
    theirs,
    precisionMs = 0,
  }: { before: number; after: number; theirs: number; precisionMs?: number },
): Finding {
  const ahead = theirs - after;
  const behind = before - theirs - precisionMs;
  const skewMs = Math.max(ahead, behind, 0);
  if (skewMs < MAX_SKEW_MS) return about(check).ok(`clock skew is below ${MAX_SKEW_MS / 1_000} s`);
  const seconds = Math.round(skewMs / 1_000);
  return about(check).warning(
    `its clock is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine’s`,
    'synchronize all clocks with NTP: timestamps and retention depend on them',
  );
}
