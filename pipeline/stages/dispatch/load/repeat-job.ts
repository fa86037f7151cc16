/** Publishes the files of a job again, as its next attempt, because slots miss devices. */
import type { JobDocument } from '../../../../schemas/job-documents.ts';
import type { Logger } from '../../../runtime/log.ts';
import type { JobStore } from '../../../stores/jobs/jobs.ts';
import type { DispatchStep } from '../steps.ts';

interface Dependencies {
  log: Logger;
  jobs: Pick<JobStore, 'nextAttempt'>;
  onRepeated(): void;
}

/** If slots miss devices after this many attempts, the job fails. */
export const MAX_ATTEMPTS = 3;

export type RepeatJob = ReturnType<typeof createRepeatJob>;

export function createRepeatJob({ log, jobs, onRepeated }: Dependencies) {
  return (job: JobDocument, slots: number[], step: DispatchStep): Promise<JobDocument> => {
    log.warn(
      { job: job._id, attempt: job.attempt ?? 0, slots },
      'devices were lost in processing: publishing the files again',
    );
    onRepeated();
    return step('attempt', () => jobs.nextAttempt(job));
  };
}
