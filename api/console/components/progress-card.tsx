import type { Progress } from '../answers.ts';
import { useNow } from '../hooks.ts';
import { fractionDone, phaseText, remainingText, workText } from '../progress-text.ts';
import { Age } from './age.tsx';
import { ProgressBar } from './bar.tsx';

/** A job that waits or runs. Its height is the same in every phase. */
export function ProgressCard({ title, progress }: { title: string; progress: Progress | undefined }) {
  const now = useNow(1_000);
  const work = progress ? [workText(progress), remainingText(progress, now)].filter(Boolean).join(' · ') : '';
  return (
    <section class="card progress-card" aria-label={title}>
      <p class="progress-title">
        <strong>{progress ? phaseText(progress) : 'Waiting'}</strong>
        {progress?.started_at ? (
          <span class="quiet">
            started <Age time={progress.started_at} />
          </span>
        ) : (
          progress && (
            <span class="quiet">
              submitted <Age time={progress.created_at} />
            </span>
          )
        )}
      </p>
      <ProgressBar fraction={progress ? fractionDone(progress) : null} label={title} />
      <p class="quiet numbers">{work || '\u00a0'}</p>
    </section>
  );
}
