/** Requests to the API with the session's cookie. What goes wrong is an ApiProblem, in words that can be shown. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly code: string;

  /** A status of 0: there was no answer. */
  constructor(status: number, title: string, detail: string, code = '') {
    super(`${title}: ${detail}`);
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.code = code;
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }
}

export interface Answer<T> {
  status: number;
  data: T;
  /** The cursor of the next page. */
  next: string | null;
  retryAfterMs: number;
}

const unreachable = () =>
  new ApiProblem(0, 'The service does not answer', 'The page tries again by itself until it does.');

async function toProblem(response: Response): Promise<ApiProblem> {
  const body = (await response.json().catch(() => null)) as Record<string, unknown> | null;
  const text = (value: unknown, otherwise: string) => (typeof value === 'string' ? value : otherwise);
  return new ApiProblem(
    response.status,
    text(body?.title, `The service answered with status ${response.status}`),
    text(body?.detail, ''),
    text(body?.code, ''),
  );
}

/** The address in a Link header may have another host than the one the console was opened with: only its cursor counts. */
export function nextCursor(link: string | null): string | null {
  const target = /<([^<>]*)>;\s*rel="?next"?/.exec(link ?? '')?.[1];
  return target ? new URL(target, 'http://base').searchParams.get('cursor') : null;
}

/** Called when the session is no longer valid. */
let onSessionEnd: () => void = () => {};
export const setSessionEnd = (listener: () => void): void => {
  onSessionEnd = listener;
};

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw unreachable();
  }
  if (response.ok) return response;
  const problem = await toProblem(response);
  if (problem.status === 401 && path !== sessionPath) onSessionEnd();
  throw problem;
}

export const sessionPath = '/console/session';
/** A header that no form and no other site can send: requests that change something need it. */
const sameSiteOnly = { 'X-Headrace-Console': '1' };

export async function read<T>(path: string, signal?: AbortSignal): Promise<Answer<T>> {
  const response = await request(path, { headers: { Accept: 'application/json' }, signal });
  const data = (await response.json().catch((error: Error) => {
    throw error.name === 'AbortError' ? error : unreachable();
  })) as T;
  return {
    status: response.status,
    data,
    next: nextCursor(response.headers.get('Link')),
    retryAfterMs: 1000 * Number(response.headers.get('Retry-After') ?? 1),
  };
}

export const change = (method: 'POST' | 'DELETE', path: string, body?: object): Promise<Response> =>
  request(path, {
    method,
    headers: { ...sameSiteOnly, ...(body && { 'Content-Type': 'application/json' }) },
    body: body && JSON.stringify(body),
  });

/** Rows of an NDJSON answer, at most `limit`: the rest is not read. */
export async function readLines<T>(
  path: string,
  limit: number,
  signal?: AbortSignal,
): Promise<{ rows: T[]; more: boolean }> {
  const response = await request(path, { signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const rows: T[] = [];
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? '')).split('\n');
    rest = done ? '' : lines.pop()!;
    for (const line of lines) if (line !== '') rows.push(JSON.parse(line) as T);
    if (!done && rows.length <= limit) continue;
    if (!done) await reader.cancel();
    return { rows: rows.slice(0, limit), more: rows.length > limit };
  }
}
