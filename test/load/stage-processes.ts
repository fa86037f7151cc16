/** Pipeline processes that run some of the stages each, instead of a benchmark's single pipeline. */
import type { StageName } from '../../schemas/stages.ts';
import { type Managed, manage } from '../support/processes.ts';
import type { Settings } from '../support/settings.ts';
import type { Bench } from './bench-stack.ts';

export interface StageProcess extends Managed {
  readonly stages: readonly StageName[];
}

/** Resolves when the process is ready. */
export async function startStages({ stack }: Bench, stages: readonly StageName[]): Promise<StageProcess> {
  // The port belongs to the pipeline that this one replaces.
  const { HEADRACE_PIPELINE_PORT: _, ...settings } = stack.settings as Settings;
  const started = await manage('pipeline', settings, {
    logs: stack.directory,
    args: ['--stages', stages.join()],
  });
  started.start();
  await started.ready();
  return Object.assign(started, { stages });
}

export const stopAll = (processes: readonly StageProcess[]) =>
  Promise.all(processes.map((process) => process.stop()));
