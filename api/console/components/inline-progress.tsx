import type { Progress } from '../answers.ts';
import { useNow } from '../hooks.ts';
import { fractionDone, phaseText, remainingText } from '../progress-text.ts';
import { ProgressBar } from './bar.tsx';

/** The progress of one row of a list. */
export function InlineProgress({ progress, label }: { progress: Progress; label: string }) {
  const now = useNow(1_000);
  const text = [phaseText(progress), remainingText(progress, now)].filter(Boolean).join(' · ');
  return (
    <span class="inline-progress">
      <ProgressBar fraction={fractionDone(progress)} label={label} />
      <span class="quiet">{text}</span>
    </span>
  );
}
