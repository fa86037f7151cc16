/** The progress of a job, as a card and as a line of a list. */
import { plural } from '../../client/format.ts';
import { fractionDone, phaseText, remainingText, workText } from '../../client/progress-text.ts';
import type { Progress } from '../../client/types.ts';
import { useNow } from '../hooks.ts';
import { Age, ProgressBar } from './basics.tsx';

interface Props {
  title: string;
  progress: Progress | undefined;
  /** The number of later loads of the same audience. */
  following?: number;
}

/** A waiting or running job. Has the same height in every phase. */
export function ProgressCard({ title, progress, following = 0 }: Props) {
  const now = useNow(1_000);
  const after = following > 0 ? `${plural(following, 'more load')} queued` : '';
  const work = progress
    ? [workText(progress), remainingText(progress, now), after].filter(Boolean).join(' · ')
    : '';
  return (
    <section class="card stack-tight" aria-label={title}>
      <p class="spread">
        <strong>{progress ? phaseText(progress) : 'Waiting'}</strong>
        {progress && (
          <span class="quiet">
            {progress.started_at ? 'started' : 'submitted'}{' '}
            <Age time={progress.started_at ?? progress.created_at} />
          </span>
        )}
      </p>
      <ProgressBar fraction={progress ? fractionDone(progress) : null} label={title} />
      <p class="quiet numbers">{work || '\u00a0'}</p>
    </section>
  );
}

/** The progress of a row of a list. Reserves its space until the progress is known. */
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
