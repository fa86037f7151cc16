/**
 * Accepts jobs: numbers them without gaps in the order of acceptance, stores them, publishes them, and only then answers.
 *
 * Requests that arrive while a flush is under way form the next one, so a busy process pays one write and one publish for
 * many requests. The process may die anywhere: before the insert there is no job; after it the number is taken, and
 * dispatch, to whom numbers have no gaps, finds the job in MongoDB even if its message never came.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { MongoBulkWriteError } from 'mongodb';
import type { JobDocument } from '../../schemas/documents.ts';
import type { Publisher } from '../kafka/publish.ts';
import { createDeadline } from '../runtime/deadline.ts';
import { faultPoint } from '../runtime/fault-points.ts';
import type { Logger } from '../runtime/log.ts';
import type { CounterStore } from '../stores/counters.ts';
import type { NewJobStore } from '../stores/new-jobs.ts';
import { acceptedMessage, type JobRequest, numbered } from './new-job.ts';
import { createWithdrawal } from './withdraw-jobs.ts';

export interface Accepted {
  job: JobDocument;
  /** The request had been accepted before: this is the job of then. */
  repeated: boolean;
}

/** Kafka or MongoDB did not answer in time. Nothing is queued. */
export class NotAccepted extends Error {
  readonly code = 'not_accepted';
  readonly retriable = true;
}

export interface AcceptQueue {
  accept(request: JobRequest): Promise<Accepted>;
  /** Resolves when nothing waits. Call it once no request comes any more. */
  drain(): Promise<void>;
}

interface Waiting {
  request: JobRequest;
  since: number;
  resolve(accepted: Accepted): void;
  reject(error: unknown): void;
}

interface Dependencies {
  newJobs: NewJobStore;
  counters: CounterStore;
  publisher: Pick<Publisher, 'ready' | 'send'>;
  log: Logger;
  limitMs: number;
  onPublished?(jobs: JobDocument[], seconds: number): void;
}

const MAX_BATCH = 500;
const MAX_WAITING = 20_000;
/** A request that waited long for its flush still gets this much of one. */
const LEAST_FLUSH_MS = 1_000;
/** About as long as a write takes to reach a majority. */
const RENUMBER_MS = 5;

/** Which unique index refused the first document that was refused. */
function refusedBy(error: unknown): { index: number; by: 'number' | 'token' } | undefined {
  if (!(error instanceof MongoBulkWriteError) || error.code !== 11000) return undefined;
  const failure = Array.isArray(error.writeErrors) ? error.writeErrors[0] : error.writeErrors;
  if (!failure) return undefined;
  return {
    index: failure.index,
    by: / index: request_token /.test(failure.errmsg ?? '') ? 'token' : 'number',
  };
}

export function createAcceptQueue(deps: Dependencies): AcceptQueue {
  const { newJobs: jobs, counters, publisher, log, limitMs, onPublished } = deps;
  const withdrawal = createWithdrawal(jobs, log);
  const waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  /** A publish that was given up but not yet refused: Kafka is away, and nothing may overtake it. */
  let stuck: Promise<unknown> | undefined;
  const kafkaAnswers = () => publisher.ready() && stuck === undefined;

  /** The last number that we saw stored; if another process has taken more, the insert is refused and we look again. */
  let known: number | undefined;

  /** Inserts in order, unless too late; `attempted` holds, at any moment, what may have been stored. */
  async function insert(
    batch: Waiting[],
    attempted: Map<Waiting, JobDocument>,
    late: () => boolean,
  ): Promise<Waiting[]> {
    const repeated: Waiting[] = [];
    let rest = batch;
    const sequence = counters.attributeSequence();
    const now = new Date();
    while (rest.length > 0) {
      const [highest, asOf] = await Promise.all([known ?? jobs.highestNumber(), sequence]);
      if (late()) throw new NotAccepted('MongoDB answers too late');
      const documents = rest.map(({ request }, i) => numbered(request, highest + 1 + i, asOf, now));
      rest.forEach((entry, i) => {
        attempted.set(entry, documents[i]!);
      });
      faultPoint('api:before-insert');
      known = undefined;
      try {
        await jobs.insert(documents);
        known = documents.at(-1)!._id;
        faultPoint('api:after-insert');
        return repeated;
      } catch (error) {
        const refused = refusedBy(error);
        if (!refused) throw error;
        for (const entry of rest.slice(refused.index)) attempted.delete(entry);
        if (refused.by === 'token') repeated.push(rest[refused.index]!);
        // A number that another process took is no failure of the request: the next round counts from there, once it is seen.
        if (refused.by === 'number') await sleep(Math.random() * RENUMBER_MS);
        rest = rest.slice(refused.by === 'token' ? refused.index + 1 : refused.index);
      }
    }
    return repeated;
  }

  async function publish(documents: JobDocument[]): Promise<void> {
    const start = performance.now();
    await publisher.send(
      'jobs',
      documents.map((job) => ({ partition: 0, key: String(job._id), value: acceptedMessage(job) })),
    );
    faultPoint('api:after-publish');
    onPublished?.(documents, (performance.now() - start) / 1_000);
  }

  function holdUntilSettled(publishing: Promise<unknown>): void {
    const held = publishing
      .catch(() => {})
      .then(() => {
        if (stuck === held) stuck = undefined;
      });
    stuck = held;
  }

  async function answerRepeated(entries: Waiting[]): Promise<void> {
    const answer = async ({ request, resolve, reject }: Waiting) => {
      const job = await jobs.findByToken(request.requestToken!);
      if (job) resolve({ job, repeated: true });
      else reject(new NotAccepted('the job of this request cannot be read'));
    };
    await Promise.all(entries.map(answer));
  }

  async function flush(batch: Waiting[]): Promise<void> {
    const attempted = new Map<Waiting, JobDocument>();
    const waited = performance.now() - batch[0]!.since;
    const deadline = createDeadline(Math.max(LEAST_FLUSH_MS, limitMs - waited));
    try {
      if (!kafkaAnswers()) throw new NotAccepted('Kafka does not answer');
      let repeated: Waiting[];
      const inserting = insert(batch, attempted, deadline.passed);
      try {
        repeated = await deadline.limit(inserting);
      } catch (cause) {
        // What was stored is not known: take back whatever was, for as long as it takes.
        withdrawal.inBackground([...attempted.values()], inserting);
        throw new NotAccepted('MongoDB does not answer', { cause });
      }
      if (attempted.size > 0) {
        const publishing = publish([...attempted.values()]);
        try {
          await deadline.limit(publishing);
        } catch (cause) {
          holdUntilSettled(publishing);
          const taken = await withdrawal.now([...attempted.values()]);
          for (const [entry, job] of attempted)
            if (taken.has(job._id)) entry.resolve({ job, repeated: false });
          throw new NotAccepted('Kafka does not answer', { cause });
        }
        for (const [entry, job] of attempted) entry.resolve({ job, repeated: false });
      }
      await deadline.limit(answerRepeated(repeated));
    } catch (error) {
      log.warn({ err: error, jobs: batch.length }, 'jobs not accepted');
      // Those that came meanwhile would meet the same fate, only later.
      for (const entry of [...batch, ...waiting.splice(0)]) entry.reject(asNotAccepted(error));
    } finally {
      deadline.clear();
    }
  }

  async function run(): Promise<void> {
    // One turn of the loop, so that requests of the same tick share a flush.
    await new Promise(setImmediate);
    while (waiting.length > 0) await flush(waiting.splice(0, MAX_BATCH));
    flushing = undefined;
  }

  return {
    accept: (request) =>
      new Promise((resolve, reject) => {
        if (!kafkaAnswers()) return reject(new NotAccepted('Kafka does not answer'));
        if (waiting.length >= MAX_WAITING) return reject(new NotAccepted('too many requests wait'));
        waiting.push({ request, since: performance.now(), resolve, reject });
        flushing ??= run();
      }),
    async drain() {
      while (flushing) await flushing;
      await withdrawal.settled();
    },
  };
}

const asNotAccepted = (error: unknown) =>
  error instanceof NotAccepted ? error : new NotAccepted('the job could not be queued', { cause: error });
