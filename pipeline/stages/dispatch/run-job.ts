/** Runs a job from accepted to ended. A new dispatcher can repeat every step: decisions are stored before they are acted upon. */
import { type JobDocument, JobStatus } from '../../../schemas/job-documents.ts';
import type { Logger } from '../../runtime/log.ts';
import { isUndecided } from '../../stores/jobs/jobs.ts';
import type { CommitJob } from './commit/commit-job.ts';
import type { PrepareJob } from './commit/prepare-job.ts';
import type { StatusPublisher } from './publish-status.ts';
import type { OwnTurns } from './turns.ts';

export interface RunDependencies {
  log: Logger;
  prepareJob: PrepareJob;
  commitJob: CommitJob;
  status: Pick<StatusPublisher, 'publishEnd'>;
}

export type RunJob = ReturnType<typeof createRunJob>;

export function createRunJob(deps: RunDependencies) {
  return async (first: JobDocument, turns: OwnTurns): Promise<void> => {
    const log = deps.log.child({ job: first._id });
    let { job, isEnded } = await deps.commitJob(await deps.prepareJob(first, turns), turns);
    // Loops if it was cancelled just before the decision, or another dispatcher has started its next attempt.
    while (isUndecided(job))
      ({ job, isEnded } = await deps.commitJob(await deps.prepareJob(job, turns), turns));
    if (isEnded) await deps.status.publishEnd(job, turns.step);
    if (job.status === JobStatus.error) log.warn({ errors: job.errors }, 'ended with errors');
    else log.info({ phase: job.phase, rows: job.rows, unique_devices: job.uniqueDevices }, 'ended');
  };
}
