/** Requests to the API that did not succeed, in words for whoever typed the command. */
import type { FieldError } from '../../../schemas/problems.ts';
import { CommandError, exitCodes } from './exit-codes.ts';

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 2_000;
/** From the service itself, or from a proxy before it that does not reach it. */
const refusedForNow = new Set([429, 503]);
const lostBehindProxy = new Set([502, 504]);

interface ErrorOptions {
  status: number;
  code: string;
  requestId?: string | null;
  retryAfterMs?: number;
  fields?: FieldError[];
  cause?: unknown;
}

export class ApiError extends CommandError {
  /** 0: there was no answer. */
  readonly status: number;
  private readonly retryAfterMs: number | undefined;

  constructor(message: string, { status, code, retryAfterMs, ...details }: ErrorOptions) {
    const isRefused = status === 401 || status === 403;
    super(isRefused ? exitCodes.notAuthorized : exitCodes.failed, code, message, details);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** The request did not reach the service, or its answer did not reach us. */
  get isLost(): boolean {
    return this.status === 0 || lostBehindProxy.has(this.status);
  }

  /** How long to wait before the request is repeated; undefined if it would fail again. */
  waitMs(lostBefore: number): number | undefined {
    if (refusedForNow.has(this.status)) return this.retryAfterMs ?? MAX_WAIT_MS;
    return this.isLost ? Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** lostBefore) : undefined;
  }
}

/** fetch says only "fetch failed"; the reason is further down. */
function reasonOf(error: unknown): string {
  const { cause, message, code } = error as Error & { code?: string };
  if (cause instanceof AggregateError) return reasonOf(cause.errors[0]);
  return cause instanceof Error ? reasonOf(cause) : message || code || String(error);
}

export const unreachable = (base: string, cause: unknown): ApiError =>
  new ApiError(`the service at ${base} does not answer: ${reasonOf(cause)}`, {
    status: 0,
    code: 'unreachable',
    cause,
  });

/** Seconds; a date is not what our service sends. */
function retryAfter(response: Response): number | undefined {
  const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
  return Number.isFinite(seconds) ? 1_000 * seconds : undefined;
}

const notHeadrace = (response: Response, base: string): ApiError =>
  new ApiError(
    `${base} answered with status ${response.status}, but not as headrace does: check the address`,
    {
      status: response.status,
      code: 'not_headrace',
      requestId: response.headers.get('X-Request-Id'),
      retryAfterMs: retryAfter(response),
    },
  );

export async function readJson(response: Response, base: string): Promise<unknown> {
  const text = await response.text();
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    throw notHeadrace(response, base);
  }
}

export async function problemFrom(response: Response, base: string): Promise<ApiError> {
  const { status, headers } = response;
  if (status < 400)
    return new ApiError(`${base} redirects to ${headers.get('Location')}: use that address as api_url`, {
      status,
      code: 'redirected',
    });
  const body = (await readJson(response, base).catch(() => null)) as Record<string, unknown> | null;
  if (typeof body?.code !== 'string') return notHeadrace(response, base);
  return new ApiError(String(body.detail), {
    status,
    code: body.code,
    requestId: headers.get('X-Request-Id'),
    retryAfterMs: retryAfter(response),
    fields: body.errors as FieldError[] | undefined,
  });
}
