/** A failed request: a problem response, or no usable response at all. */
import type { FieldError } from '../../schemas/problems.ts';

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 2_000;
/** Sent by the service, or by a proxy that cannot reach it. */
const refusedForNow = new Set([429, 503]);
const lostBehindProxy = new Set([502, 504]);

interface Details {
  code?: string;
  requestId?: string | null;
  fields?: readonly FieldError[];
  retryAfterMs?: number;
  cause?: unknown;
}

export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly code: string;
  readonly requestId: string | null;
  readonly fields: readonly FieldError[];
  private readonly retryAfterMs: number | undefined;

  /** Status 0: no response. */
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    { code = '', requestId = null, fields = [], retryAfterMs, cause }: Details = {},
  ) {
    super(detail || title, { cause });
    this.code = code;
    this.requestId = requestId;
    this.fields = fields;
    this.retryAfterMs = retryAfterMs;
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }

  /** The request did not reach the service, or its response did not reach us. */
  get isLost(): boolean {
    return this.isUnreachable || lostBehindProxy.has(this.status);
  }

  /** Milliseconds until the next attempt; undefined if a retry would fail again. */
  backoffMs(lostBefore: number): number | undefined {
    if (refusedForNow.has(this.status)) return this.retryAfterMs ?? MAX_WAIT_MS;
    return this.isLost ? Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** lostBefore) : undefined;
  }
}

/** fetch says only "fetch failed"; the reason is in the causes. */
function reasonOf(error: unknown): string {
  const { cause, message, code } = error as Error & { code?: string };
  if (cause instanceof AggregateError) return reasonOf(cause.errors[0]);
  return cause instanceof Error ? reasonOf(cause) : message || code || String(error);
}

const noResponse = (detail: string, cause: unknown) =>
  new ApiProblem(0, 'The service does not answer', detail, { code: 'unreachable', cause });

export const unreachable = (base: string, cause: unknown): ApiProblem =>
  noResponse(`the service at ${base} does not answer: ${reasonOf(cause)}`, cause);

/** The connection broke while reading a body. Aborts pass through. */
export const interruptedBody = (error: Error): Error =>
  error instanceof ApiProblem || error.name === 'AbortError' || error.name === 'CommandError'
    ? error
    : noResponse(`the response was cut off: ${error.message}`, error);

/** In seconds; our service sends no dates. */
function retryAfter({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN);
  return Number.isFinite(seconds) ? 1_000 * seconds : undefined;
}

const detailsOf = (response: Response): Details => ({
  requestId: response.headers.get('X-Request-Id'),
  retryAfterMs: retryAfter(response),
});

const notHeadrace = (response: Response, base: string): ApiProblem =>
  new ApiProblem(
    response.status,
    'The response is not from headrace',
    `${base} responded with status ${response.status}, but not as headrace does: check the address`,
    { code: 'not_headrace', ...detailsOf(response) },
  );

export async function readJson(response: Response, base: string): Promise<unknown> {
  const text = await response.text();
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    throw notHeadrace(response, base);
  }
}

export async function problemOf(response: Response, base: string): Promise<ApiProblem> {
  const { status, headers } = response;
  if (status < 400) {
    const detail = `${base} redirects to ${headers.get('Location')}: use that address as api_url`;
    return new ApiProblem(status, 'The service has moved', detail, { code: 'redirected' });
  }
  const body = (await readJson(response, base).catch(() => null)) as Record<string, unknown> | null;
  if (typeof body?.code !== 'string') return notHeadrace(response, base);
  const { code, title, detail, errors } = body;
  return new ApiProblem(status, String(title), String(detail), {
    code,
    fields: errors as FieldError[] | undefined,
    ...detailsOf(response),
  });
}
