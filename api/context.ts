/** What the parts of the API are given, and what a request carries from one to the next. */
import type Koa from 'koa';
import type { Db } from 'mongodb';
import type { Publisher } from '../pipeline/runtime/kafka.ts';
import type { Logger } from '../pipeline/runtime/log.ts';
import type { AcceptQueue } from '../pipeline/stores/accept-jobs.ts';
import type { Scope } from '../pipeline/stores/audiences.ts';
import type { Config } from '../schemas/config.ts';
import type { Bodies } from '../schemas/http.ts';
import type { Metrics } from './metrics.ts';

export interface Dependencies {
  config: Config;
  db: Db;
  publisher: Publisher;
  queue: AcceptQueue;
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
}

export type Context = Koa.ParameterizedContext<RequestState> & { params: Record<string, string> };
export type Handler = (ctx: Context) => Promise<void> | void;
export type Middleware = (ctx: Context, next: () => Promise<unknown>) => Promise<unknown> | unknown;
