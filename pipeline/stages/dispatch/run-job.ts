/** One job, from accepted to ended. Each step can be repeated by a successor: what was decided is in MongoDB before it is acted upon. */
import { type JobDocument, JobStatus } from '../../../schemas/documents.ts';
import type { Logger } from '../../runtime/log.ts';
import type { CommitJob } from './commit/commit-job.ts';
import type { DecideJob } from './commit/decide-job.ts';
import type { StatusPublisher } from './publish-status.ts';
import type { OwnTurns } from './turns.ts';

export interface RunDependencies {
  log: Logger;
  decideJob: DecideJob;
  commitJob: CommitJob;
  status: Pick<StatusPublisher, 'publishEnd'>;
}

export type RunJob = ReturnType<typeof createRunJob>;

export function createRunJob(deps: RunDependencies) {
  return async (job: JobDocument, turns: OwnTurns): Promise<void> => {
    const { step } = turns;
    const log = deps.log.child({ job: job._id });
    const decided = await deps.decideJob(job, turns);
    const { current: committed, ended } = await deps.commitJob(decided, turns);
    const current = ended ?? committed;
    if (ended) await deps.status.publishEnd(ended, step);
    if (current.status === JobStatus.error) log.warn({ errors: current.errors }, 'ended with errors');
    else
      log.info({ phase: current.phase, rows: current.rows, unique_devices: current.uniqueDevices }, 'ended');
  };
}
