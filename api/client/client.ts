/**
 * Requests to the API, for the CLI, the console, the demo and load tests. Nothing here is specific to Node: it is also bundled for
 * browsers.
 */
import { linkedAbort } from '../../pipeline/runtime/deadline.ts';
import { ApiProblem, interruptedBody, problemOf, readJson, unreachable } from './problem.ts';

export const importPath = '/v1/marketplace/import';
export const audiencePath = '/v2/firstparty/audience';
export const attributePath = '/v1/marketplace/attribute';
export const webhookPath = '/v1/webhooks';
export const privacyPath = '/v1/privacy/requests';
export const accountPath = '/v1/account';
export const usagePath = '/v1/usage';

export interface ApiResponse<T> {
  status: number;
  data: T;
  /** The path of the created resource. */
  location: string | null;
  /** The cursor of the next page. */
  next: string | null;
}

interface ClientOptions {
  baseUrl: string;
  headers?: Record<string, string>;
  /** Aborts all requests. */
  signal?: AbortSignal;
  /** How long to retry requests that are lost or refused with 429 or 503; 0: never. */
  retryMs?: number;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface ReadOptions {
  signal?: AbortSignal;
  /** Max retries while the service is unreachable. */
  maxLost?: number;
}
interface Request extends ReadOptions {
  body?: object;
  headers?: Record<string, string>;
  /** The body is read later and must stay abortable. */
  isStream?: true;
}

const ATTEMPT_MS = 30_000;
export const RETRY_MS = 60_000;
/** Two seconds, with the backoff between them. */
const MAX_LOST = 3;

export const partnerHeaders = (apiKey: string, userToken?: string): Record<string, string> => ({
  Authorization: `Bearer ${apiKey}`,
  ...(userToken === undefined ? {} : { 'x-user-token': userToken }),
});

/** Takes only the cursor: behind a proxy, the address in the header may differ from ours. */
export function nextCursor(link: string | null): string | null {
  const target = /<([^<>]*)>;\s*rel="?next"?/.exec(link ?? '')?.[1];
  return target ? new URL(target, 'http://base').searchParams.get('cursor') : null;
}

/** Rejects with the signal's reason. */
export const wait = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, signal?.aborted ? 0 : ms);
    signal?.addEventListener('abort', end);
  });

export type ApiClient = ReturnType<typeof createClient>;

export function createClient(options: ClientOptions) {
  const { retryMs = RETRY_MS } = options;
  const base = options.baseUrl.replace(/(?<!\/)\/+$/, '');

  /** One attempt. `use` reads the body, within the same time limit. */
  async function attempt<T>(
    method: Method,
    path: string,
    { body, headers, isStream, signal = options.signal }: Request,
    use: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { controller, unlink } = linkedAbort(signal);
    const timeout = new Error(`no response within ${ATTEMPT_MS / 1000} s`);
    const timer = setTimeout(() => controller.abort(timeout), ATTEMPT_MS);
    try {
      const response = await fetch(base + path, {
        method,
        headers: {
          ...options.headers,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // A redirected POST would become a GET.
        redirect: 'manual',
        signal: controller.signal,
      });
      if (!response.ok) throw await problemOf(response, base);
      return await use(response);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof ApiProblem ? error : unreachable(base, error);
    } finally {
      clearTimeout(timer);
      if (!isStream) unlink();
    }
  }

  async function send<T>(
    method: Method,
    path: string,
    request: Request,
    use: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { maxLost = MAX_LOST, signal = options.signal } = request;
    const since = performance.now();
    for (let lost = 0; ; ) {
      try {
        return await attempt(method, path, request, use);
      } catch (error) {
        const waitMs = error instanceof ApiProblem ? error.backoffMs(lost) : undefined;
        if (waitMs === undefined) throw error;
        lost = (error as ApiProblem).isLost ? lost + 1 : 0;
        if (lost > maxLost || performance.now() - since + waitMs > retryMs) throw error;
        await wait(waitMs, signal);
      }
    }
  }

  const parse = async <T>(response: Response): Promise<ApiResponse<T>> => {
    const location = response.headers.get('Location');
    return {
      status: response.status,
      data: (await readJson(response, base)) as T,
      location: location && new URL(location, 'http://base').pathname,
      next: nextCursor(response.headers.get('Link')),
    };
  };

  return {
    get: <T>(path: string, request: ReadOptions = {}): Promise<ApiResponse<T>> =>
      send('GET', path, request, parse<T>),
    /** With retries, an Idempotency-Key keeps a retry from queueing a second job; a page with a retry button passes its own key. */
    change: <T>(
      method: Exclude<Method, 'GET'>,
      path: string,
      body?: object,
      key: string | undefined = retryMs > 0 ? crypto.randomUUID() : undefined,
    ): Promise<ApiResponse<T>> => {
      const headers = key === undefined ? undefined : { 'Idempotency-Key': key };
      return send(method, path, { body, headers }, parse<T>);
    },
    /** For a body that may be large: read it with the functions below. */
    open: (
      path: string,
      request: ReadOptions & { headers?: Record<string, string> } = {},
    ): Promise<Response> => send('GET', path, { ...request, isStream: true }, async (response) => response),
  };
}

const PAGE = 1_000;

/** Reads a list page by page, up to `limit` records. */
export async function listRecords<T>(
  api: Pick<ApiClient, 'get'>,
  path: string,
  { limit, status, search }: { limit: number; status?: number | string; search?: string },
): Promise<T[]> {
  const records: T[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: String(Math.min(PAGE, limit - records.length)) });
    for (const [name, value] of Object.entries({ status, search, cursor }))
      if (value !== undefined && value !== null) query.set(name, String(value));
    const { data, next } = await api.get<T[]>(`${path}?${query}`);
    records.push(...data);
    cursor = next;
  } while (cursor !== null && records.length < limit);
  return records;
}

export async function* readText({ body }: Response): AsyncGenerator<string> {
  const reader = body!.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: Error) => {
        throw interruptedBody(error);
      });
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** The values of NDJSON. Stopping early closes the connection. */
export async function* readLines<T>(response: Response): AsyncGenerator<T> {
  let rest = '';
  for await (const text of readText(response)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as T;
  }
  if (rest.trim() !== '') yield JSON.parse(rest) as T;
}

export const readBody = async <T>(response: Response): Promise<T> =>
  (await response.json().catch((error: Error) => {
    throw interruptedBody(error);
  })) as T;
