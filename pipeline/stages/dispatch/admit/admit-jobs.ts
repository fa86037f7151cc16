/**
 * Admits jobs in the order of their numbers, at most a window of them at a time. Numbers have no gaps, so a message that is missing
 * (the API died before it could publish it) shows: the job is read from MongoDB, and published for those who read the topic.
 */
import type { JobDocument } from '../../../../schemas/documents.ts';
import { acceptedMessage } from '../../../accept/new-job.ts';
import type { Publisher } from '../../../kafka/publish.ts';
import type { Logger } from '../../../runtime/log.ts';
import { jobHeaders } from '../../../runtime/trace-job.ts';
import type { JobStore } from '../../../stores/jobs/jobs.ts';
import type { DispatchStep } from '../steps.ts';

export interface AdmissionDependencies {
  log: Logger;
  publisher: Publisher;
  jobs: JobStore;
  /** How many jobs may be in flight. */
  jobWindow: number;
}

interface Term {
  /** The first unfinished job. */
  first: number;
  step: DispatchStep;
  /** Runs the job to its end. Never rejects. `earlierLoad`: the load before it of the same audience. */
  run(job: JobDocument, earlierLoad: Promise<void> | undefined): Promise<void>;
  /** True if the job is deferred: it is not run here. */
  defer(job: JobDocument): Promise<boolean>;
  onEnded(): void;
}

export type Admission = ReturnType<typeof createAdmission>;

/** A job is taken for lost when so many looks in a row found it and no message came. */
const LOST_AFTER = 3;
const READ_AT_ONCE = 100;

export function createAdmission(
  { log, publisher, jobs, jobWindow }: AdmissionDependencies,
  { first, step, run, defer, onEnded }: Term,
) {
  /** In the order of their numbers. Where the message of each job stands, if it came by one. */
  const inFlight = new Map<number, bigint | null>();
  const lastLoad = new Map<number, Promise<void>>();
  let next = first;
  let looksWithoutMessage = 0;
  /** Read but not admitted. What was withdrawn since shows when it is run. */
  let ahead: JobDocument[] = [];
  let taking: Promise<void> = Promise.resolve();
  let onRoom: () => void = () => {};
  step.signal.addEventListener('abort', () => onRoom(), { once: true });

  async function untilRoom(): Promise<void> {
    while (inFlight.size >= jobWindow && !step.signal.aborted)
      await new Promise<void>((resolve) => {
        onRoom = resolve;
      });
    step.signal.throwIfAborted();
  }

  async function admit(job: JobDocument, offset: bigint | null): Promise<void> {
    const isDeferred = await defer(job);
    if (!isDeferred) await untilRoom();
    next = job._id + 1;
    if (offset === null && job.phase === 'accepted' && !job.deferred) await republish(job);
    if (isDeferred) return;
    const { audience } = job;
    const earlierLoad = audience === null ? undefined : lastLoad.get(audience);
    inFlight.set(job._id, offset);
    const ended = run(job, earlierLoad).then(() => {
      inFlight.delete(job._id);
      if (audience !== null && lastLoad.get(audience) === ended) lastLoad.delete(audience);
      onEnded();
      onRoom();
    });
    if (audience !== null) lastLoad.set(audience, ended);
  }

  async function republish(job: JobDocument): Promise<void> {
    log.warn({ job: job._id }, 'the message of the job is missing; publishing it again');
    const message = { partition: 0, key: String(job._id), value: acceptedMessage(job), ...jobHeaders(job) };
    await step('republish', () => publisher.send('jobs', [message]));
  }

  async function takeUpTo(last: number, offset: bigint | null): Promise<void> {
    while (next <= last) {
      if (ahead[0]?._id !== next)
        ahead = await step.read('read jobs', () => jobs.range(next, next + READ_AT_ONCE));
      const job = ahead.shift();
      if (job?._id !== next) {
        log.error({ job: last }, 'ignoring a message that names a job which was never accepted');
        return;
      }
      await admit(job, job._id === last ? offset : null);
    }
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
      const waiting = await jobs.range(next, next + jobWindow);
      looksWithoutMessage = waiting.length > 0 && inFlight.size < jobWindow ? looksWithoutMessage + 1 : 0;
      if (looksWithoutMessage >= LOST_AFTER) await take(waiting.at(-1)!._id, null);
    },

    /** Jobs in flight, and where the message of each stands. */
    inFlight: (): ReadonlyMap<number, bigint | null> => inFlight,

    isOldest: (job: number) => inFlight.keys().next().value === job,

    oldestOffset(): bigint | undefined {
      let oldest: bigint | undefined;
      for (const offset of inFlight.values())
        if (offset !== null && (oldest === undefined || offset < oldest)) oldest = offset;
      return oldest;
    },
  };
}
