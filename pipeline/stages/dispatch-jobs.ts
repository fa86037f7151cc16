/**
 * dispatch: takes jobs in the order of their numbers, a window of them at a time, and runs each to its end (dispatch/run-job.ts).
 *
 * One consumer of the one partition is active, the others stand by. Numbers have no gaps, so a message that is missing (the API
 * died before it could publish) shows: the job is taken from MongoDB, and published for those who read the topic.
 */
import type { JobDocument } from '../../schemas/documents.ts';
import { acceptedMessage } from '../accept/accept-queue.ts';
import type { Publisher } from '../kafka/publish.ts';
import type { Stage } from '../kafka/stage.ts';
import type { Logger } from '../runtime/log.ts';
import type { Retry } from '../runtime/retry.ts';
import type { JobStore } from '../stores/jobs.ts';
import type { Ending } from './dispatch/end-job.ts';
import type { FileLoader } from './dispatch/load-files.ts';
import { createReadAhead } from './dispatch/read-ahead.ts';
import type { Turns } from './dispatch/run-job.ts';
import { createSequencer } from './dispatch/sequencer.ts';
import type { SlotWatch } from './dispatch/watch-slots.ts';

export interface DispatchDependencies {
  log: Logger;
  retry: Retry;
  publisher: Publisher;
  jobs: JobStore;
  /** What the jobs of one session wait for. */
  watch(signal: AbortSignal): { files: FileLoader; slots: SlotWatch };
  runJob(job: JobDocument, turns: Turns): Promise<void>;
  endJobs(endings: (Ending | null)[], signal: AbortSignal): Promise<(JobDocument | null)[]>;
  /** What a predecessor ended and did not live to publish. */
  publishMissedEnds(): Promise<void>;
  /** Clears away what cleared audiences left behind. */
  sweep(signal: AbortSignal): Promise<void>;
  window: number;
  readAheadBytes: number;
  onFatal(error: unknown): void;
}

/** How long a job may be in MongoDB before its message is taken for lost. */
const LOST_AFTER_CHECKS = 2;
const CHECK_MS = 1_000;
const SWEEP_EVERY = 30;
const TAKEN_AT_ONCE = 100;

export function createDispatchJobs(deps: DispatchDependencies): Stage {
  let session: Session | undefined;

  return {
    name: 'dispatch',
    input: 'jobs',
    /** One after the other. */
    weigh: () => Number.POSITIVE_INFINITY,
    async handle({ offset, message }) {
      if (message.name === 'AcceptedJob') await session?.deliver(offset, message.value.job);
    },
    durable: (_, handled) => session?.oldestOffset() ?? handled,
    assigned(partitions) {
      session?.end();
      session = partitions.length > 0 ? createSession(deps) : undefined;
    },
    async stop() {
      session?.end();
    },
  };
}

type Session = ReturnType<typeof createSession>;

/** The time during which this process is the active dispatcher. */
function createSession(deps: DispatchDependencies) {
  const { log, retry, jobs } = deps;
  const ending = new AbortController();
  const { signal } = ending;
  /** Where the message of each job stands, if it came by one. */
  const inFlight = new Map<number, bigint | null>();
  const lastOfAudience = new Map<number, Promise<void>>();
  /** Jobs are begun in the order of their numbers, and a map keeps it. */
  const readAhead = createReadAhead(deps.readAheadBytes, (job) => inFlight.keys().next().value === job);
  let room: () => void = () => {};
  let noRoom: (reason: unknown) => void = () => {};
  signal.addEventListener('abort', () => noRoom(signal.reason), { once: true });
  let turns: Turns;
  let next = 0;
  let checksWithout = 0;
  let checks = 0;

  const started = retry('see where to go on', () => jobs.extent(), signal).then(({ first, newest }) => {
    next = first;
    const { files, slots } = deps.watch(signal);
    const afterEarlierLoads = async (job: JobDocument) => earlier.get(job._id);
    turns = {
      markers: createSequencer(first, signal, slots.mark),
      ends: createSequencer(first, signal, (some) => deps.endJobs(some, signal)),
      files,
      slots,
      readAhead,
      signal,
      afterEarlierLoads,
      mayBeListed: (job) => job <= newest,
    };
    log.info({ next_job: first }, 'dispatching');
    retry('publish missed ends', deps.publishMissedEnds, signal).catch(giveUp);
  });
  started.catch(giveUp);
  const earlier = new Map<number, Promise<void>>();

  function giveUp(error: unknown): void {
    if (!signal.aborted) deps.onFatal(error);
  }

  /** Takes jobs one after the other: delivered ones and those found by the check must not interleave. */
  let taking: Promise<void> = started;
  /** Looked up but not begun. What was withdrawn since shows when it is begun. */
  let ahead: JobDocument[] = [];
  function take(last: number, offset: bigint | null): Promise<void> {
    taking = taking.then(async () => {
      while (next <= last) {
        if (ahead[0]?._id !== next) {
          ahead = await retry('look up jobs', () => jobs.range(next, next + TAKEN_AT_ONCE), signal);
        }
        const job = ahead.shift();
        if (job?._id !== next) {
          log.error({ job: last }, 'a message names a job that nobody accepted; passed over');
          return;
        }
        await begin(job, job._id === last ? offset : null);
      }
    });
    return taking;
  }

  async function begin(job: JobDocument, offset: bigint | null): Promise<void> {
    while (inFlight.size >= deps.window) {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        room = resolve;
        noRoom = reject;
      });
    }
    signal.throwIfAborted();
    next = job._id + 1;
    if (offset === null && job.phase === 'accepted') await republish(job);
    if (job.audience !== null) {
      const before = lastOfAudience.get(job.audience);
      if (before) earlier.set(job._id, before);
    }
    const ended = deps.runJob(job, turns);
    const settled = ended.catch(giveUp).then(() => {
      inFlight.delete(job._id);
      earlier.delete(job._id);
      if (job.audience !== null && lastOfAudience.get(job.audience) === settled)
        lastOfAudience.delete(job.audience);
      readAhead.admit();
      room();
    });
    inFlight.set(job._id, offset);
    if (job.audience !== null) lastOfAudience.set(job.audience, settled);
  }

  async function republish(job: JobDocument): Promise<void> {
    log.warn({ job: job._id }, 'the job’s message is missing; published again');
    const message = { partition: 0, key: String(job._id), value: acceptedMessage(job) };
    await retry('publish a job again', () => deps.publisher.send('jobs', [message]), signal);
  }

  /** A job that nobody follows would wait for ever if only later messages showed that its own is missing. */
  async function check(): Promise<void> {
    await taking;
    if (checks++ % SWEEP_EVERY === 0) await deps.sweep(signal);
    const waiting = await jobs.range(next, next + deps.window);
    checksWithout = waiting.length > 0 && inFlight.size < deps.window ? checksWithout + 1 : 0;
    if (checksWithout < LOST_AFTER_CHECKS) return;
    checksWithout = 0;
    await take(waiting.at(-1)!._id, null);
  }
  const timer = setInterval(() => {
    if (!checking) {
      checking = true;
      check()
        .catch((error) => {
          if (!signal.aborted) log.warn({ err: error }, 'could not look for lost jobs; will look again');
        })
        .finally(() => {
          checking = false;
        });
    }
  }, CHECK_MS);
  let checking = false;

  return {
    async deliver(offset: bigint, job: number): Promise<void> {
      await started;
      checksWithout = 0;
      await take(job, offset);
    },
    oldestOffset(): bigint | undefined {
      let oldest: bigint | undefined;
      for (const offset of inFlight.values()) {
        if (offset !== null && (oldest === undefined || offset < oldest)) oldest = offset;
      }
      return oldest;
    },
    end(): void {
      clearInterval(timer);
      ending.abort(new Error('stopping'));
    },
  };
}
