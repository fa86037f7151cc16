/**
 * Finds jobs, in the order of their numbers, and puts them into their lanes (lanes.ts). A message in `jobs` says that there is one; all
 * that is needed of it is in MongoDB. A job whose message is missing, because the API died before it was sent or Kafka lost it, is
 * published again.
 */
import type { JobDocument } from '../../../../schemas/job-documents.ts';
import { acceptedMessage } from '../../../accept/new-job.ts';
import type { Publisher } from '../../../kafka/publish.ts';
import type { Logger } from '../../../runtime/log.ts';
import { jobHeaders } from '../../../runtime/trace-job.ts';
import type { JobStore } from '../../../stores/jobs/jobs.ts';
import type { DispatchStep } from '../steps.ts';

export interface AdmissionDependencies {
  log: Logger;
  publisher: Publisher;
  jobs: Pick<JobStore, 'extent' | 'unfinishedFrom'>;
}

interface Term {
  /** The first unfinished job, and the newest one. */
  first: number;
  newest: number;
  step: DispatchStep;
  /** Gets every unfinished job once, in the order of their numbers. */
  onJob(job: JobDocument): void;
}

export type Admission = ReturnType<typeof createAdmission>;

/** A job is taken for lost when so many looks in a row found it and no message came. */
const LOST_AFTER = 3;
const READ_AT_ONCE = 100;

export function createAdmission(
  { log, publisher, jobs }: AdmissionDependencies,
  { first, newest: newestAtFirst, step, onJob }: Term,
) {
  /** Where the messages of unfinished jobs stand: they are read again after a crash. */
  const offsets = new Map<number, bigint>();
  /** Unfinished jobs before this one are in their lanes. */
  let next = first;
  let newest = newestAtFirst;
  let looksWithoutMessage = 0;
  /** Read, and not taken yet. What was withdrawn since shows when it is run. */
  let ahead: JobDocument[] = [];
  let taking: Promise<void> = Promise.resolve();

  async function republish(job: JobDocument): Promise<void> {
    log.warn({ job: job._id }, 'the message of the job is missing; publishing it again');
    const message = { partition: 0, key: String(job._id), value: acceptedMessage(job), ...jobHeaders(job) };
    await step('republish', () => publisher.send('jobs', [message]));
  }

  async function isAccepted(job: number): Promise<boolean> {
    if (job > newest) ({ newest } = await step.read('find the newest job', () => jobs.extent()));
    return job <= newest;
  }

  async function takeUpTo(last: number, offset: bigint | null): Promise<void> {
    if (!(await isAccepted(last))) {
      log.error({ job: last }, 'ignoring a message that names a job which was never accepted');
      return;
    }
    while (next <= last) {
      if (ahead.length === 0)
        ahead = await step.read('read jobs', () => jobs.unfinishedFrom(next, READ_AT_ONCE));
      const job = ahead[0];
      if (!job || job._id > last) break;
      if (job._id === last && offset !== null) offsets.set(last, offset);
      else if (job.phase === 'accepted') await republish(job);
      ahead.shift();
      onJob(job);
      // Not before: markers of other lanes say that all jobs before it which are in no lane have ended.
      next = job._id + 1;
    }
    next = Math.max(next, last + 1);
  }

  /** One after the other: delivered jobs and those that were found must not interleave. */
  function take(job: number, offset: bigint | null): Promise<void> {
    looksWithoutMessage = 0;
    taking = taking.then(() => takeUpTo(job, offset));
    return taking;
  }

  return {
    take,

    /** Recovers the newest job when its message was lost. */
    async takeLost(): Promise<void> {
      await taking;
      const waiting = await jobs.unfinishedFrom(next, READ_AT_ONCE);
      looksWithoutMessage = waiting.length > 0 ? looksWithoutMessage + 1 : 0;
      if (looksWithoutMessage >= LOST_AFTER) await take(waiting.at(-1)!._id, null);
    },

    onEnded: (job: number) => offsets.delete(job),

    /** No job that was not seen is before this one. */
    next: () => next,

    /** Where the oldest message of an unfinished job stands. */
    oldestOffset(): bigint | undefined {
      let oldest: bigint | undefined;
      for (const offset of offsets.values()) if (oldest === undefined || offset < oldest) oldest = offset;
      return oldest;
    },
  };
}
