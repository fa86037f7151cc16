/**
 * Accepts jobs: numbers them without gaps in the order of acceptance, stores them, publishes them, and only then answers.
 *
 * Group commit: requests that arrive while a group is being stored form the next group. A group is stored while the previous one is
 * published; publishes stay in order. After a crash before the insert there is no job; after it the job runs, because dispatch expects
 * gapless numbers and finds the job in MongoDB even if its message was never published.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { MongoBulkWriteError } from 'mongodb';
import { acceptedMessage, type JobRequest, numbered } from '../../pipeline/accept/new-job.ts';
import type { Publisher } from '../../pipeline/kafka/publish.ts';
import { createDeadline, type Deadline, withDeadline } from '../../pipeline/runtime/deadline.ts';
import { groupCommit } from '../../pipeline/runtime/group-commit.ts';
import type { Logger } from '../../pipeline/runtime/log.ts';
import { jobHeaders } from '../../pipeline/runtime/trace-job.ts';
import type { CounterStore } from '../../pipeline/stores/counters.ts';
import type { JobStore } from '../../pipeline/stores/jobs/jobs.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { faultPoint } from './fault-points.ts';
import { createWithdrawal } from './withdraw-jobs.ts';

export interface Accepted {
  job: JobDocument;
  /** The request was accepted before: this is its job. */
  repeated: boolean;
}

/** Kafka or MongoDB did not answer in time. Nothing is queued. */
export class NotAccepted extends Error {
  readonly code = 'not_accepted';
  readonly retriable = true;
}

export type AcceptQueue = ReturnType<typeof createAcceptQueue>;

interface Waiting {
  request: JobRequest;
  since: number;
}
/** The job of the request, or why it has none. `repeated`: an earlier request with the same token has the job. */
type Outcome = JobDocument | 'repeated' | NotAccepted;

interface Dependencies {
  jobs: Pick<JobStore, 'findByToken' | 'highestNumber' | 'insert' | 'withdraw'>;
  counters: CounterStore;
  publisher: Pick<Publisher, 'ready' | 'send'>;
  log: Logger;
  limitMs: number;
  onPublished?(jobs: JobDocument[]): void;
}

const MAX_WAITING = 20_000;
/** Minimum time for a flush, however long its first request has waited. */
const MIN_FLUSH_MS = 1_000;
/** About as long as a write takes to reach a majority. */
const RENUMBER_MS = 5;

/** The first document that was refused, and the unique index that refused it. */
function refusedBy(error: unknown): { index: number; by: 'number' | 'token' } | undefined {
  if (!(error instanceof MongoBulkWriteError) || error.code !== 11000) return undefined;
  const failure = Array.isArray(error.writeErrors) ? error.writeErrors[0] : error.writeErrors;
  if (!failure) return undefined;
  return {
    index: failure.index,
    by: / index: request_token /.test(failure.errmsg ?? '') ? 'token' : 'number',
  };
}

export function createAcceptQueue(deps: Dependencies) {
  const { jobs, counters, publisher, log, limitMs, onPublished } = deps;
  const withdrawal = createWithdrawal(jobs, log);
  const open = new Set<Promise<Accepted>>();
  /** Why the last flush failed, and when. */
  let failed: { at: number; error: NotAccepted } | undefined;
  /** A publish has timed out and may still succeed: nothing may overtake it. */
  let isStuck = false;
  const kafkaAnswers = () => publisher.ready() && !isStuck;
  /** The last publish: the next waits for it, so that jobs are published in order. */
  let published: Promise<NotAccepted | undefined> = Promise.resolve(undefined);

  /** The last number that this process stored. If another process has used more, the insert is refused, and it is read again. */
  let known: number | undefined;

  /** Inserts in order, unless it is too late. At any moment, `attempted` holds what may have been stored. */
  async function insert(
    batch: Waiting[],
    attempted: Map<Waiting, JobDocument>,
    late: () => boolean,
  ): Promise<void> {
    let rest = batch;
    const now = new Date();
    while (rest.length > 0) {
      const highest = known ?? (await jobs.highestNumber());
      // Read after each number: an earlier job that deletes an attribute has raised the sequence by then.
      const asOf = await counters.attributeSequence();
      if (late()) throw new NotAccepted('MongoDB responded too late');
      const documents = rest.map(({ request }, i) => numbered(request, highest + 1 + i, asOf, now));
      for (const [i, entry] of rest.entries()) attempted.set(entry, documents[i]!);
      faultPoint('api:before-insert');
      known = undefined;
      try {
        await jobs.insert(documents);
        known = documents.at(-1)!._id;
        faultPoint('api:after-insert');
        return;
      } catch (error) {
        const refused = refusedBy(error);
        if (!refused) throw error;
        for (const entry of rest.slice(refused.index)) attempted.delete(entry);
        // Another process took the number: the next round continues from there, once it is visible.
        if (refused.by === 'number') await sleep(Math.random() * RENUMBER_MS);
        rest = rest.slice(refused.by === 'token' ? refused.index + 1 : refused.index);
      }
    }
  }

  function fail(reason: string, jobs: number, cause?: unknown): NotAccepted {
    const error = new NotAccepted(reason, { cause });
    log.warn({ err: error, jobs }, 'jobs not accepted');
    failed = { at: performance.now(), error };
    return error;
  }
  /** Fail waiting requests now: they would only fail later. */
  const failedBefore = (since: number) => (failed && since < failed.at ? failed.error : undefined);

  async function send(documents: JobDocument[]): Promise<void> {
    await publisher.send(
      'jobs',
      documents.map((job) => ({
        partition: 0,
        key: String(job._id),
        value: acceptedMessage(job),
        ...jobHeaders(job),
      })),
    );
    faultPoint('api:after-publish');
    onPublished?.(documents);
  }

  /** Returns the error if it failed; even then Kafka may have stored the messages. */
  async function publish(documents: JobDocument[], deadline: Deadline): Promise<NotAccepted | undefined> {
    const sending = send(documents);
    try {
      await deadline.limit(sending);
      return undefined;
    } catch (cause) {
      isStuck = true;
      const settled = () => {
        isStuck = false;
      };
      sending.then(settled, settled);
      return fail('Kafka does not answer', documents.length, cause);
    }
  }

  /** Stores the jobs of a group, and begins to publish them. The next group is stored meanwhile. */
  async function flush(batch: Waiting[]): Promise<Promise<Outcome>[]> {
    const [{ since }] = batch as [Waiting];
    const error =
      failedBefore(since) ?? (kafkaAnswers() ? undefined : fail('Kafka does not answer', batch.length));
    if (error) throw error;
    const attempted = new Map<Waiting, JobDocument>();
    const deadline = createDeadline(Math.max(MIN_FLUSH_MS, limitMs - (performance.now() - since)));
    const inserting = insert(batch, attempted, deadline.passed);
    await deadline.limit(inserting).catch((cause) => {
      deadline.clear();
      // The insert may have landed: withdraw in the background until that succeeds.
      withdrawal.inBackground([...attempted.values()], inserting);
      throw fail('MongoDB does not answer', batch.length, cause);
    });
    const documents = [...attempted.values()];
    await published;
    const late = failedBefore(since);
    published = late || documents.length === 0 ? Promise.resolve(late) : publish(documents, deadline);
    const ending = end(documents, published).finally(deadline.clear);
    return batch.map(async (entry) => {
      const { error, running } = await ending;
      const job = attempted.get(entry);
      return job && (!error || running.has(job._id)) ? job : (error ?? 'repeated');
    });
  }

  /** `running`: jobs that could not be withdrawn, because dispatch had claimed them. */
  async function end(documents: JobDocument[], publishing: Promise<NotAccepted | undefined>) {
    const error = await publishing;
    return { error, running: error ? await withdrawal.now(documents) : new Set<number>() };
  }
  const commit = groupCommit(flush);

  async function accept(request: JobRequest): Promise<Accepted> {
    if (!kafkaAnswers()) throw new NotAccepted('Kafka does not answer');
    if (open.size >= MAX_WAITING) throw new NotAccepted('too many requests wait');
    const outcome = await commit({ request, since: performance.now() });
    if (outcome instanceof NotAccepted) throw outcome;
    if (outcome !== 'repeated') return { job: outcome, repeated: false };
    const job = await withDeadline(limitMs, jobs.findByToken(request.requestToken!)).catch((cause) => {
      throw new NotAccepted('MongoDB does not answer', { cause });
    });
    if (!job) throw new NotAccepted('the job of this request cannot be read');
    return { job, repeated: true };
  }

  return {
    accept(request: JobRequest): Promise<Accepted> {
      const accepting = accept(request).finally(() => open.delete(accepting));
      open.add(accepting);
      return accepting;
    },
    /** Resolves when no request waits; call it after the last one. */
    async drain(): Promise<void> {
      await Promise.allSettled(open);
      await withdrawal.settled();
    },
  };
}
