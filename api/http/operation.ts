/**
 * An operation is declared once, with `read` or `change`. The router, the checks before the handler and the OpenAPI document follow
 * from the declaration.
 */
import type { z } from 'zod';
import type { KeyScope } from '../../schemas/partner-documents.ts';
import type { ProblemCode } from '../../schemas/problems.ts';
import type { Change } from './change.ts';
import type { Context, Handler } from './context.ts';
import type { Examples, Responses } from './responses.ts';
import { readQuery, validate } from './validate.ts';

interface Body<B extends z.ZodType = z.ZodType> {
  schema: B;
  examples?: Examples;
  optional?: true;
  /** If it may be larger than other bodies. */
  maxBytes?: number;
}

/** What the router needs to know. Pages of the console are routes that the OpenAPI document leaves out. */
interface Routed {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  /**
   * public: anyone; console: pages of the console, with or without a session; partner: an API key; user: an API key, and a user token
   * if one is sent. Checked before the body is read.
   */
  access: 'public' | 'console' | 'partner' | 'user';
  /** An API key needs all of these scopes. A console session needs a key with them; without a key it has only `read`. */
  scopes: readonly KeyScope[];
  /** Sessions of a share link may read this, for their own audience. */
  isShared?: true;
  /** Public routes ignore the query. */
  query?: z.ZodObject;
  body?: Body;
}
/** Every change takes an Idempotency-Key: api/jobs/idempotent.ts applies what is prepared here. */
export type Route = Routed & ({ handler: Handler } | { prepare(ctx: Context): Change | Promise<Change> });

interface Description {
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  /** In addition to those implied by the kind of operation: user token, ETag, Idempotency-Key. */
  headers?: z.ZodObject;
  /** Path parameters that are not ids. */
  params?: z.ZodObject;
  responses: Responses;
  /** In addition to those implied by access, method, path and body. */
  problems?: readonly ProblemCode[];
  /** Instead of all problems. */
  errors?: Responses;
}
export type Operation = Route & Description;

interface Declared<Q extends z.ZodObject> extends Description {
  path: string;
  access: 'public' | 'partner' | 'user';
  query?: Q;
}
interface Read<Q extends z.ZodObject> extends Declared<Q> {
  scopes?: readonly KeyScope[];
  isShared?: true;
  handle(ctx: Context, query: z.output<Q>): Promise<void> | void;
}
interface Changing<B extends z.ZodType, Q extends z.ZodObject> extends Declared<Q> {
  method: 'post' | 'put' | 'patch' | 'delete';
  scopes: readonly KeyScope[];
  body?: Body<B>;
  /** Validates the request further. Nothing has been changed yet. */
  prepare(ctx: Context, body: z.output<B>, query: z.output<Q>): Change | Promise<Change>;
}

export const read = <Q extends z.ZodObject>({ handle, ...declared }: Read<Q>): Operation => ({
  scopes: ['read'],
  ...declared,
  method: 'get',
  handler: (ctx) => handle(ctx, readQuery(ctx, declared.query)),
});

export const change = <B extends z.ZodType, Q extends z.ZodObject>({
  prepare,
  ...declared
}: Changing<B, Q>): Operation => ({
  ...declared,
  prepare(ctx) {
    const body = declared.body && validate(declared.body.schema, ctx.request.body);
    return prepare(ctx, body as z.output<B>, readQuery(ctx, declared.query));
  },
});
