/** The state that a request carries from middleware to handler. */
import type Koa from 'koa';
import type { Scope } from '../../pipeline/stores/audiences.ts';
import type { KeyScope } from '../../schemas/partner-documents.ts';

export interface RequestState {
  requestId: string;
  /** Set once the caller has been authenticated. */
  scope: Scope;
  /** For sessions of a share link: the only audience they may read. */
  onlyAudience?: number;
  /** The API key of the request or its session; none for a user token's session. */
  keyId?: string;
  /** The scopes of that key; `read` without one. */
  keyScopes: readonly KeyScope[];
  /** Callers with the same name share a rate limit. */
  limitedAs: string;
  /** When the API key, the session or the user token ends, in milliseconds since 1970: no response continues after it. */
  expiresAt?: number;
  /** Whether the caller still has access; long responses check every few seconds. */
  isStillAllowed(): Promise<boolean>;
  /** The URL of a path as partners see the API: a proxy may have another host name. */
  addressOf(path: string): string;
  route?: string;
  /** Its span, if traced. */
  traceparent?: string;
  /** When the request began, and the time spent in our own code and backends: reading the body does not count. */
  begunAt: number;
  backendMs: number;
  /** Already answered with 503 because a backend did not respond in time: no further work may start for it. */
  givenUp?: true;
  /** Its job is being queued: the response is decided by the queue. */
  accepting?: true;
}

export type Context = Koa.ParameterizedContext<RequestState> & { params: Record<string, string> };
export type Handler = (ctx: Context) => Promise<void> | void;
export type Middleware = (ctx: Context, next: () => Promise<unknown>) => Promise<unknown> | unknown;

/** How often the request has a header. Of several, Node uses the first; a proxy may have used another. */
export const countHeader = ({ req: { rawHeaders } }: Context, name: string): number =>
  rawHeaders.filter((text, i) => i % 2 === 0 && text.length === name.length && text.toLowerCase() === name)
    .length;
