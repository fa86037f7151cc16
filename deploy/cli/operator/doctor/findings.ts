/** What a check found, and what to do about it. */
import { within } from '../../../../pipeline/runtime/deadline.ts';

export interface Finding {
  check: string;
  /** A warning is worth knowing, and nothing fails of it now. */
  state: 'ok' | 'warning' | 'problem';
  found: string;
  advice?: string;
}

export const ok = (check: string, found: string): Finding => ({ check, state: 'ok', found });
export const warning = (check: string, found: string, advice: string): Finding => ({
  check,
  state: 'warning',
  found,
  advice,
});
export const problem = (check: string, found: string, advice: string): Finding => ({
  check,
  state: 'problem',
  found,
  advice,
});

/** `good` if nothing was found. */
export const unless = (found: Finding[], good: Finding): Finding[] => (found.length > 0 ? found : [good]);

const MAX_CHECK_MS = 60_000;

/** Nobody waits for a server that hangs: that is a finding, too. */
export async function examine(
  check: string,
  advice: string,
  work: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await within(MAX_CHECK_MS, work());
  } catch (error) {
    return [problem(check, error instanceof Error ? error.message : String(error), advice)];
  }
}

const MAX_SKEW_MS = 5_000;

/** `theirs`: what their clock said between the two times of ours, and by how much it may be rounded. */
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
  if (skewMs < MAX_SKEW_MS) return ok(check, `the clocks differ by less than ${MAX_SKEW_MS / 1_000} s`);
  const seconds = Math.round(skewMs / 1_000);
  return warning(
    check,
    `its clock is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} the one of this machine`,
    'synchronize the clocks of all machines (NTP): times in records and retention follow them',
  );
}
