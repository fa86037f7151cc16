import { bytes, count, duration, percent, plural } from '../../../client/format.ts';
import { useAnnounce } from '../../hooks.ts';
import type { Target } from '../../load.ts';
import { Problem, ProgressBar } from '../basics.tsx';
import { DryRunResult } from './dry-run.tsx';
import { type Stage, useLoad } from './use-load.ts';

const steps = ['Upload', 'Dry run', 'Load'] as const;
/** Which of the steps is current, and whether it failed. */
function stepOf(stage: Stage): { current: number; hasFailed: boolean } {
  if (stage.name === 'uploading' || stage.name === 'failed')
    return { current: 0, hasFailed: stage.name === 'failed' };
  if (stage.name === 'checking' || stage.run.status === 3)
    return { current: 1, hasFailed: stage.name !== 'checking' };
  return { current: 2, hasFailed: false };
}

function titleOf(stage: Stage): string {
  switch (stage.name) {
    case 'uploading':
      return 'Uploading';
    case 'checking':
      return 'Dry run: reading the file, changing nothing';
    case 'failed':
      return stage.problem.title;
    default:
      return stage.run.status === 2
        ? `Would load ${count(stage.run.rows_accepted)} of ${plural(stage.run.total_rows, 'row')}`
        : 'Would fail';
  }
}

function sentText(sent: number, size: number, since: number): string {
  const seconds = (performance.now() - since) / 1_000;
  const left = sent > 0 && seconds > 1 ? ` · about ${duration(((size - sent) * seconds) / sent)} left` : '';
  return `${bytes(sent)} of ${bytes(size)} · ${percent(sent / size)}${left}`;
}

interface Props {
  file: File;
  target: Target;
  /** `Import`, `Add to Summer visitors` */
  action: string;
  onCancel: () => void;
}

export function LoadSteps({ file, target, action, onCancel }: Props) {
  const { stage, retry, load } = useLoad(file, target);
  const title = titleOf(stage);
  useAnnounce(title);
  const { current, hasFailed } = stepOf(stage);
  const classOf = (at: number) =>
    at < current ? 'step-done' : at === current && hasFailed ? 'step-failed' : '';
  return (
    <section class="card stack stack-wide" aria-label={`Loading ${file.name}`}>
      <ol class="steps" aria-label="Steps">
        {steps.map((step, at) => (
          <li key={step} aria-current={at === current ? 'step' : undefined} class={classOf(at)}>
            {step}
          </li>
        ))}
      </ol>
      <p>
        <span class="path">{file.name}</span> <span class="quiet">{bytes(file.size)}</span>
      </p>
      {stage.name !== 'failed' && <h2>{title}</h2>}
      {stage.name === 'uploading' && (
        <>
          <ProgressBar fraction={stage.sent / file.size} label={`Upload of ${file.name}`} />
          <p class="quiet numbers">
            {sentText(stage.sent, file.size, stage.since)}. Leaving this page cancels the upload.
          </p>
        </>
      )}
      {stage.name === 'checking' && (
        <>
          <ProgressBar fraction={null} label="Dry run" />
          <p class="quiet numbers">{stage.run ? `${plural(stage.run.total_rows, 'row')} read` : 'Queued'}</p>
        </>
      )}
      {stage.name === 'failed' && <Problem problem={stage.problem} retry={retry} />}
      {(stage.name === 'checked' || stage.name === 'submitting') && (
        <>
          <DryRunResult run={stage.run} />
          {stage.name === 'checked' && stage.problem && <Problem problem={stage.problem} />}
        </>
      )}
      <div class="actions">
        {(stage.name === 'checked' || stage.name === 'submitting') && stage.run.status === 2 && (
          <button
            type="button"
            class="primary"
            disabled={stage.name === 'submitting'}
            onClick={() => load(stage.run)}
          >
            {stage.name === 'submitting' ? 'Submitting…' : action}
          </button>
        )}
        {stage.name !== 'submitting' && (
          <button type="button" onClick={onCancel}>
            {stage.name === 'uploading' ? 'Cancel' : 'Back'}
          </button>
        )}
      </div>
    </section>
  );
}
