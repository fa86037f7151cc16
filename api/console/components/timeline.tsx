import { exactTime, plural } from '../../client/format.ts';
import { fractionDone, phaseText, remainingText, workText } from '../../client/progress-text.ts';
import type { Progress } from '../../client/types.ts';
import { useNow } from '../hooks.ts';
import { timelineOf } from '../timeline.ts';
import { ProgressBar } from './basics.tsx';

const spoken = { done: 'done', current: 'now', failed: 'failed', ahead: 'to come' };

function WorkInProgress({ title, progress }: { title: string; progress: Progress }) {
  const now = useNow(1_000);
  const work = [phaseText(progress), workText(progress), remainingText(progress, now)].filter(Boolean);
  return (
    <>
      <ProgressBar fraction={fractionDone(progress)} label={title} />
      <p class="quiet numbers">{work.join(' · ')}</p>
    </>
  );
}

/** The phases of a job with their durations. */
export function Timeline({
  title,
  progress,
  isDeletion,
}: {
  title: string;
  progress: Progress;
  isDeletion: boolean;
}) {
  const isOpen = progress.ended_at === null && progress.phase !== 'failed';
  return (
    <section class="card" aria-label={title}>
      <ol class="timeline">
        {timelineOf(progress, isDeletion).map(({ name, state, took }) => (
          <li key={name} class={`phase-${state}`} aria-current={state === 'current' ? 'step' : undefined}>
            {name}
            <span class="visually-hidden">, {spoken[state]}</span>
            <span class="quiet numbers">{took || '\u00a0'}</span>
          </li>
        ))}
      </ol>
      {isOpen ? (
        <WorkInProgress title={title} progress={progress} />
      ) : (
        <p class="quiet numbers">
          {[
            progress.ended_at && `Ended ${exactTime(progress.ended_at)}`,
            progress.files !== null && plural(progress.files, 'file'),
            progress.rows_per_second && `${plural(progress.rows_per_second, 'row')}/s`,
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      )}
    </section>
  );
}
