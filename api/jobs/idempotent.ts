/**
 * Idempotency-Key: the same key and request within 24 hours returns the first response again. Every change runs through here. Until
 * the response is stored, a repeated request resumes the first attempt: a job carries the token of its request under a unique index,
 * and every other change starts from an intent stored before it.
 */

import { createHmac, randomUUID } from 'node:crypto';
import { Binary } from 'mongodb';
import type { JobRequest } from '../../pipeline/accept/new-job.ts';
import { quotasOf } from '../../pipeline/accept/quotas.ts';
import { withDeadline } from '../../pipeline/runtime/deadline.ts';
import type { Logger } from '../../pipeline/runtime/log.ts';
import { deriveKey, seal, secretsOf, unseal } from '../../pipeline/runtime/seal.ts';
import type { ConfigOf } from '../../schemas/config.ts';
import type { IdempotencyDocument } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import type { KnownPartners } from '../auth/known.ts';
import type { ApiResponse, Change, DirectChange, QueueJob } from '../http/change.ts';
import type { Context } from '../http/context.ts';
import { beginAccepting, stopIfGivenUp } from '../http/limit-time.ts';
import { Problem, unavailable } from '../http/problem.ts';
import type { ApiStores } from '../stores/api-stores.ts';
import { type Accepted, type AcceptQueue, NotAccepted } from './accept-queue.ts';
import type { DailyQuota } from './daily-quota.ts';
import { faultPoint } from './fault-points.ts';
import type { PendingJobs } from './pending-jobs.ts';

interface Dependencies extends Pick<ApiStores, 'idempotency' | 'jobs'> {
  config: ConfigOf<'api'>;
  queue: AcceptQueue;
  pending: PendingJobs;
  dailyQuota: DailyQuota;
  knownPartners: KnownPartners;
  log: Logger;
}

/** Sorts the members, so that equal requests have equal hashes whatever their formatting. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

/** The stored record of a request's key. */
interface Claim {
  mark: IdempotencyDocument;
  /** No earlier request had the key. */
  isFirst: boolean;
}

async function claim(deps: Dependencies, ctx: Context): Promise<Claim | undefined> {
  if (ctx.req.headers['idempotency-key'] === undefined) return undefined;
  const key = ctx.get('idempotency-key');
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new Problem(
      'bad_idempotency_key',
      'The Idempotency-Key must be 1 to 255 visible ASCII characters.',
    );
  const { partner, customer } = ctx.state.scope;
  // An HMAC: a body may contain a secret, and a plain hash of it could be brute-forced.
  const text = `${ctx.method} ${ctx.path}${ctx.search}\n${canonical(ctx.request.body)}`;
  const hashes = secretsOf(deps.config).map((secret) =>
    createHmac('sha256', deriveKey(secret, 'idempotency')).update(text).digest('base64url'),
  );
  const [requestHash] = hashes as [string];
  const token = randomUUID();
  const mark = await deps.idempotency.claim({ partner, customer }, key, { requestHash, token });
  faultPoint('api:after-claim');
  if (!hashes.includes(mark.requestHash))
    throw new Problem(
      'idempotency_conflict',
      'This Idempotency-Key was already used for a different request.',
    );
  return { mark, isFirst: mark.token === token };
}

export function createCarryOut(deps: Dependencies): (ctx: Context, change: Change) => Promise<ApiResponse> {
  const { config, idempotency, jobs, log } = deps;
  const secrets = secretsOf(config);

  // Encrypted: the secret of a webhook is in the response that creates it, and nowhere else.
  const contextOf = ({ _id }: IdempotencyDocument) => `idempotency ${_id}`;
  const sealed = (mark: IdempotencyDocument, value: unknown) =>
    new Binary(seal(config.secret, JSON.stringify(value ?? null), contextOf(mark)));
  const opened = <T>(mark: IdempotencyDocument, value: Binary): T =>
    JSON.parse(unseal(secrets, value, contextOf(mark))) as T;

  /** Stores the answer. Returns the one of a concurrent try if that was first. */
  async function keep(mark: IdempotencyDocument, answer: ApiResponse): Promise<ApiResponse> {
    const stored = await idempotency.storeAnswer(mark, sealed(mark, answer));
    faultPoint('api:after-keep-answer');
    return stored ? opened(mark, stored) : answer;
  }

  /** Once a job is queued, limit-time.ts no longer cuts the request off, so these steps have a deadline of their own. */
  const limited = <T>(work: Promise<T>): Promise<T> =>
    withDeadline(config.limitBackendMs, work).catch((cause) => {
      throw unavailable('A backend did not respond in time. Retry shortly.', cause);
    });

  /** The job that another try queued, or what a new one is to do. */
  async function jobOrRequest(
    change: QueueJob,
    { mark, isFirst }: Claim,
  ): Promise<{ job: JobDocument } | { request: JobRequest }> {
    const known = isFirst ? undefined : await jobs.findByToken(mark.token);
    if (known) return { job: known };
    try {
      return { request: await change.job() };
    } catch (error) {
      // A concurrent try may have queued the job, and removed what this one looked for.
      const job = await jobs.findByToken(mark.token);
      if (job) return { job };
      throw error;
    }
  }

  async function jobOf(ctx: Context, change: QueueJob, claimed: Claim): Promise<Accepted> {
    const found = await jobOrRequest(change, claimed);
    if ('request' in found) return accept(deps, ctx, { ...found.request, requestToken: claimed.mark.token });
    beginAccepting(ctx);
    return { job: found.job, repeated: true };
  }

  async function queueOnce(ctx: Context, change: QueueJob, claimed: Claim): Promise<ApiResponse> {
    for (let tries = 0; tries < 5; tries++) {
      const { mark } = claimed;
      const accepted = await jobOf(ctx, change, claimed);
      const job = accepted.repeated ? await limited(jobs.promise(accepted.job)) : accepted.job;
      if (!job) continue;
      if (job.phase !== 'withdrawn') {
        const answer = await change.answer(job);
        faultPoint('api:before-answer');
        // Not awaited: should it fail, a repeated request rebuilds the response from the job.
        keep(mark, answer).catch((error) =>
          log.debug({ err: error }, 'response for an Idempotency-Key not stored'),
        );
        return answer;
      }
      claimed = { mark: await limited(idempotency.renewToken(mark)), isFirst: false };
    }
    throw unavailable('The request could not be queued. Retry shortly.');
  }

  /** The stored intent, or a new one. */
  async function intentOf<T>({ intend }: DirectChange<T>, mark: IdempotencyDocument): Promise<T> {
    if (mark.intent) return opened(mark, mark.intent);
    try {
      const intent = await intend();
      const stored = await idempotency.fixIntent(mark, sealed(mark, intent));
      return stored ? opened(mark, stored) : intent;
    } catch (error) {
      // A concurrent attempt may have removed what this one looked for.
      const stored = await idempotency.intentOf(mark);
      if (stored) return opened(mark, stored);
      throw error;
    }
  }

  /** Stores the response before sending it, so that a repeated request gets the same one. */
  async function applyOnce(
    ctx: Context,
    change: DirectChange<unknown>,
    claimed?: Claim,
  ): Promise<ApiResponse> {
    const intent = claimed ? await intentOf(change, claimed.mark) : await change.intend();
    faultPoint('api:before-change');
    stopIfGivenUp(ctx);
    const answer = await change.apply(intent);
    faultPoint('api:after-change');
    return claimed ? keep(claimed.mark, answer) : answer;
  }

  return async (ctx, change) => {
    const claimed = await claim(deps, ctx);
    if (claimed?.mark.answer) return opened(claimed.mark, claimed.mark.answer);
    if ('apply' in change) return applyOnce(ctx, change, claimed);
    if (claimed) return queueOnce(ctx, change, claimed);
    return change.answer((await accept(deps, ctx, await change.job())).job);
  };
}

/** Queues the job, unless the partner is suspended or over a quota, or the request has timed out. */
async function accept(
  { config, pending, dailyQuota, knownPartners, queue }: Dependencies,
  ctx: Context,
  request: JobRequest,
): Promise<Accepted> {
  // Again: the body may have taken long to arrive after authentication.
  await knownPartners.refuseSuspended(request.partner);
  const quotas = quotasOf(await knownPartners.lookUp(request.partner), config);
  await dailyQuota.check(request, quotas);
  const place = await pending.reserve(request.partner, quotas.pendingJobs, request.requestToken);
  let isNew = false;
  try {
    beginAccepting(ctx);
    const { traceparent } = ctx.state;
    const accepted = await queue
      .accept(traceparent ? { ...request, traceparent } : request)
      .catch((error) => {
        throw error instanceof NotAccepted ? unavailable('Nothing was queued. Retry shortly.', error) : error;
      });
    isNew = !accepted.repeated;
    return accepted;
  } finally {
    place.settle(isNew);
  }
}
