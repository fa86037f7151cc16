/**
 * Idempotency-Key: the same key and request within 24 hours returns the first response again. A job carries the token of its
 * request under a unique index, so a retried request finds the job wherever the first try died.
 */

import { createHmac } from 'node:crypto';
import type { Accepted } from '../pipeline/accept/accept-queue.ts';
import type { JobRequest } from '../pipeline/accept/new-job.ts';
import { quotasOf } from '../pipeline/accept/quotas.ts';
import { within } from '../pipeline/runtime/deadline.ts';
import { faultPoint } from '../pipeline/runtime/fault-points.ts';
import { deriveKey, secretsOf } from '../pipeline/runtime/seal.ts';
import type { IdempotencyDocument, JobDocument } from '../schemas/documents.ts';
import type { Context, Dependencies } from './context.ts';
import { beginAccepting } from './middleware/limit-time.ts';
import { Problem, unavailable } from './problem.ts';

export interface Answer {
  status: number;
  body?: string;
  location?: string;
}

export function send(ctx: Context, answer: Answer): void {
  ctx.status = answer.status;
  if (answer.location) ctx.set('Location', answer.location);
  if (answer.body === undefined) return;
  ctx.type = 'application/json';
  ctx.body = answer.body;
}

/** Sorts the members, so that equal requests have equal hashes whatever their formatting. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

/** The stored record of this request's key, or undefined when it has none. */
export async function claim(deps: Dependencies, ctx: Context): Promise<IdempotencyDocument | undefined> {
  if (ctx.req.headers['idempotency-key'] === undefined) return undefined;
  const key = ctx.get('idempotency-key');
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new Problem(
      'bad_idempotency_key',
      'The Idempotency-Key must be 1 to 255 visible ASCII characters.',
    );
  const { partner, customer } = ctx.state.scope;
  // An HMAC: a body may contain a secret, and a plain hash of it could be brute-forced.
  const text = `${ctx.method} ${ctx.path}\n${canonical(ctx.request.body)}`;
  const hashes = secretsOf(deps.config).map((secret) =>
    createHmac('sha256', deriveKey(secret, 'idempotency')).update(text).digest('base64url'),
  );
  const requestHash = hashes[0]!;
  const mark = await deps.idempotency.claim({ partner, customer }, key, requestHash);
  faultPoint('api:after-claim');
  if (!hashes.includes(mark.requestHash))
    throw new Problem(
      'idempotency_conflict',
      'This Idempotency-Key was already used for a different request.',
    );
  return mark;
}

/** Only needed when the request is repeated; if this fails, the response is rebuilt from the job. */
export function keepAnswer(deps: Dependencies, mark: IdempotencyDocument, answer: Answer): void {
  deps.idempotency.storeAnswer(mark, answer).then(
    () => faultPoint('api:after-keep-answer'),
    (error) =>
      deps.log.debug(
        { err: error },
        'the response for an Idempotency-Key was not stored; a repeated request rebuilds it from the job',
      ),
  );
}

/** Queues the job, unless the partner is suspended or over a quota, or the request has timed out. */
async function accept(
  { config, pending, dailyQuota, knownPartners, queue }: Dependencies,
  ctx: Context,
  request: JobRequest,
): Promise<Accepted> {
  // Again: since the request was authenticated, its body may have taken long to arrive.
  await knownPartners.refuseSuspended(request.partner);
  const quotas = quotasOf(await knownPartners.lookUp(request.partner), config);
  await dailyQuota.check(request, quotas);
  const place = await pending.reserve(request.partner, quotas.pendingJobs, request.requestToken);
  let isNew = false;
  try {
    beginAccepting(ctx);
    const { traceparent } = ctx.state;
    const accepted = await queue.accept(traceparent ? { ...request, traceparent } : request);
    isNew = !accepted.repeated;
    return accepted;
  } finally {
    place.settle(isNew);
  }
}

/** Queues the job of a request once, and returns the response for it. */
export async function queueOnce(
  deps: Dependencies,
  ctx: Context,
  request: JobRequest,
  answerFor: (job: JobDocument) => Answer | Promise<Answer>,
): Promise<Answer> {
  let mark = await claim(deps, ctx);
  if (!mark) return answerFor((await accept(deps, ctx, request)).job);
  for (let tries = 0; tries < 5; tries++) {
    const { status, body, location } = mark;
    if (status !== undefined) return { status, body, location };
    const accepted = await accept(deps, ctx, { ...request, requestToken: mark.token });
    const job = accepted.repeated ? await limited(deps, deps.newJobs.promise(accepted.job)) : accepted.job;
    if (!job) continue;
    if (job.phase !== 'withdrawn') {
      const answer = await answerFor(job);
      faultPoint('api:before-answer');
      keepAnswer(deps, mark, answer);
      return answer;
    }
    mark = await limited(deps, deps.idempotency.renewToken(mark));
  }
  throw unavailable('The request could not be queued. Retry shortly.');
}

/** Once a job is queued, limit-time.ts no longer cuts the request off, so these steps have a deadline of their own. */
const limited = <T>({ config }: Dependencies, work: Promise<T>): Promise<T> =>
  within(config.limitBackendMs, work).catch((cause) => {
    throw unavailable('A backend did not respond in time. Retry shortly.', cause);
  });
