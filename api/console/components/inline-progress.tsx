import { fractionDone, phaseText, remainingText } from '../../client/progress-text.ts';
import type { Progress } from '../../client/types.ts';
import { useNow } from '../hooks.ts';
import { ProgressBar } from './bar.tsx';

/** The progress of one row of a list; its place is kept until it is known. */
export function InlineProgress({ progress, label }: { progress: Progress | undefined; label: string }) {
  const now = useNow(1_000);
  const text = progress && [phaseText(progress), remainingText(progress, now)].filter(Boolean).join(' · ');
  return (
    <span class="inline-progress">
      <ProgressBar fraction={progress ? fractionDone(progress) : null} label={label} />
      <span class="quiet">{text ?? '\u00a0'}</span>
    </span>
  );
}
