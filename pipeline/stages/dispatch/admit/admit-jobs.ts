/**
 * Admits jobs in order and puts them into their lanes (lanes.ts). A message in `jobs` only announces a job; its data is read from MongoDB.
 * A job whose message is missing, because the API died before sending it or Kafka lost it, is published again.
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
  /** Called for every unfinished job once, in order. */
  onJob(job: JobDocument): void;
}

export type Admission = ReturnType<typeof createAdmission>;

/** A job's message counts as lost after this many polls in a row found the job and no message arrived. */
const LOST_AFTER = 3;
const READ_AT_ONCE = 100;

export function createAdmission(
  { log, publisher, jobs }: AdmissionDependencies,
  { first, newest: newestAtFirst, step, onJob }: Term,
) {
  /** Offsets of the messages of unfinished jobs, which must be read again after a crash. */
  const offsets = new Map<number, bigint>();
  /** All unfinished jobs before this number are in their lanes. */
  let next = first;
  let newest = newestAtFirst;
  let looksWithoutMessage = 0;
  /** Read from MongoDB, not admitted yet. May be stale: withdrawn jobs are detected when they run. */
  let ahead: JobDocument[] = [];
  let taking: Promise<void> = Promise.resolve();

  async function republish(job: JobDocument): Promise<void> {
    log.warn({ job: job._id }, 'the message of the job was lost: publishing it again');
    const message = { partition: 0, key: String(job._id), value: acceptedMessage(job), ...jobHeaders(job) };
    await step('republish', () => publisher.send('jobs', [message]));
  }

  async function readAhead(): Promise<void> {
    ahead = await step.read('read jobs', () => jobs.unfinishedFrom(next, READ_AT_ONCE));
    newest = Math.max(newest, ahead.at(-1)?._id ?? 0);
  }

  async function isAccepted(job: number): Promise<boolean> {
    // Usually the job is new, so reading it to admit it shows that it was accepted.
    if (job > newest && ahead.length === 0) await readAhead();
    if (job > newest) ({ newest } = await step.read('find the newest job', () => jobs.extent()));
    return job <= newest;
  }

  async function takeUpTo(last: number, offset: bigint | null): Promise<void> {
    if (!(await isAccepted(last))) {
      log.error({ job: last }, 'ignoring a message about a job that was never accepted');
      return;
    }
    while (next <= last) {
      if (ahead.length === 0) await readAhead();
      const job = ahead[0];
      if (!job || job._id > last) break;
      if (job._id === last && offset !== null) offsets.set(last, offset);
      else if (job.phase === 'accepted') await republish(job);
      ahead.shift();
      onJob(job);
      // Only now: `ended_before` in markers counts every job before `next` that is in no lane as ended.
      next = job._id + 1;
    }
    next = Math.max(next, last + 1);
  }

  /** Serialized: delivered jobs and recovered ones must not interleave. */
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

    /** All jobs before this number have been seen. */
    next: () => next,

    /** Offset of the oldest message whose job is unfinished. */
    oldestOffset(): bigint | undefined {
      let oldest: bigint | undefined;
      for (const offset of offsets.values()) if (oldest === undefined || offset < oldest) oldest = offset;
      return oldest;
    },
  };
}
