/** What the parts of the API are given, and what a request carries from one to the next. */
import type Koa from 'koa';
import type { AcceptQueue } from '../pipeline/accept/accept-queue.ts';
import type { PendingJobs } from '../pipeline/accept/pending-jobs.ts';
import type { Publisher } from '../pipeline/kafka/publish.ts';
import type { Logger } from '../pipeline/runtime/log.ts';
import type { Scope } from '../pipeline/stores/audiences.ts';
import type { Config } from '../schemas/config.ts';
import type { Bodies } from '../schemas/http.ts';
import type { Metrics } from './metrics.ts';
import type { ApiStores } from './stores.ts';

export interface Dependencies extends ApiStores {
  config: Config;
  /** Whether MongoDB answers. */
  ping(): Promise<boolean>;
  publisher: Publisher;
  queue: AcceptQueue;
  pending: PendingJobs;
  bodies: Bodies;
  metrics: Metrics;
  log: Logger;
}

export interface RequestState {
  requestId: string;
  /** Set once the key was found good. */
  scope: Scope;
  keyId?: string;
  route?: string;
  /** When the request began, and how much of its time went to us: the reading of its body is not ours. */
  begunAt: number;
  backendMs: number;
  /** Answered with an error because a backend did not answer in time: nothing may be begun for it any more. */
  givenUp?: true;
  /** Its job is being queued: the answer is what the queue says. */
  accepting?: true;
}

export type Context = Koa.ParameterizedContext<RequestState> & { params: Record<string, string> };
export type Handler = (ctx: Context) => Promise<void> | void;
export type Middleware = (ctx: Context, next: () => Promise<unknown>) => Promise<unknown> | unknown;
