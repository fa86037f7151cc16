/** What a request changes, and its answer. api/jobs/idempotent.ts applies changes. */
import type { JobRequest } from '../../pipeline/accept/new-job.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import type { Context } from './context.ts';

export interface ApiResponse {
  status: number;
  body?: string;
  /** A path. */
  location?: string;
  retryAfter?: string;
}

/** A request that queues a job. */
export interface QueueJob {
  /** Checks the request against what is stored. Skipped if an earlier attempt queued the job. */
  job(): JobRequest | Promise<JobRequest>;
  answer(job: JobDocument): ApiResponse | Promise<ApiResponse>;
}
/** A request that takes effect at once. */
export interface DirectChange<Intent> {
  /**
   * Checks the request against what is stored, and fixes what must be the same in every attempt: ids, secrets, versions. Skipped if an
   * earlier attempt stored its intent.
   */
  intend(): Promise<Intent>;
  /** Idempotent for an intent. */
  apply(intent: Intent): Promise<ApiResponse>;
}
/** What a request changes, known to be well-formed. Nothing has been changed yet. */
export type Change = QueueJob | DirectChange<unknown>;

/** Keeps the type of the intent, which is stored as JSON. */
export const direct = <Intent>(change: DirectChange<Intent>): Change => change;

export const answer = (status: number, value: unknown, location?: string): ApiResponse => ({
  status,
  body: JSON.stringify(value),
  ...(location === undefined ? {} : { location }),
});

export function send(ctx: Context, { status, body, location, retryAfter }: ApiResponse): void {
  ctx.status = status;
  if (location) ctx.set('Location', ctx.state.addressOf(location));
  if (retryAfter) ctx.set('Retry-After', retryAfter);
  if (body === undefined) return;
  ctx.type = 'application/json';
  ctx.body = body;
}

export const sendJson = (ctx: Context, value: unknown): void => send(ctx, answer(200, value));
