/**
 * The API as a partner's command calls it. A request that was refused for now (429, 503) or lost on its way is repeated; one that
 * changes something carries an Idempotency-Key, so that the repetition is not a second job.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import packageJson from '../../../package.json' with { type: 'json' };
import { linkedAbort } from '../../../pipeline/runtime/linked-abort.ts';
import { ApiError, problemFrom, readJson, unreachable } from './api-errors.ts';
import { CommandError, exitCodes, usageError } from './exit-codes.ts';

export interface Answer<T> {
  data: T;
  /** The path of what was created. */
  location: string | null;
  /** The cursor of the next page. */
  next: string | null;
}

export interface ClientOptions {
  apiUrl: string;
  apiKey: string;
  userToken?: string;
  signal: AbortSignal;
  /** A request that is refused for now is repeated for a minute, or for so long. */
  minRetryMs?: number;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
interface Request {
  body?: object;
  headers?: Record<string, string>;
  /** The body is read later: an interrupt still has to end it. */
  isStream?: true;
  /** How often it is repeated while the service cannot be reached. */
  maxLost?: number;
  signal?: AbortSignal;
}

const ATTEMPT_MS = 30_000;
const RETRY_MS = 60_000;
/** With the waits between them, two seconds. */
const MAX_LOST = 3;

function baseOf(apiUrl: string): string {
  const isUsable = URL.canParse(apiUrl) && /^https?:$/.test(new URL(apiUrl).protocol);
  if (!isUsable)
    throw usageError(`${apiUrl} is not the address of a service, such as https://import.example.com`);
  return apiUrl.replace(/(?<!\/)\/+$/, '');
}

/** Only the cursor counts: the address in the header may be another one than ours. */
function nextCursor(link: string | null): string | null {
  const target = /<([^<>]*)>;\s*rel="?next"?/.exec(link ?? '')?.[1];
  return target ? new URL(target, 'http://base').searchParams.get('cursor') : null;
}

/** fetch would show it in its complaint. */
function checkHeader(name: string, value = ''): void {
  if (!/^[\x21-\x7e]*$/.test(value))
    throw new CommandError(exitCodes.notAuthorized, 'unauthorized', `${name} has characters that none has`);
}

export type ApiClient = ReturnType<typeof createApiClient>;

export function createApiClient({ apiUrl, apiKey, userToken, signal, minRetryMs = 0 }: ClientOptions) {
  const base = baseOf(apiUrl);
  const retryMs = Math.max(RETRY_MS, minRetryMs);
  checkHeader('api_key', apiKey);
  checkHeader('user_token', userToken);

  /** One try. `use` reads the body, within the same limit of time. */
  async function attempt<T>(
    method: Method,
    path: string,
    request: Request,
    use: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { body, headers } = request;
    const { controller, unlink } = linkedAbort(request.signal ?? signal);
    const timer = setTimeout(
      () => controller.abort(new Error(`no answer within ${ATTEMPT_MS / 1000} s`)),
      ATTEMPT_MS,
    );
    try {
      const response = await fetch(base + path, {
        method,
        headers: {
          Authorization: `Bearer ${apiKey}`,
          'User-Agent': `headrace/${packageJson.version}`,
          ...(userToken === undefined ? {} : { 'x-user-token': userToken }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // A redirected POST becomes a GET: better to name the address that is meant.
        redirect: 'manual',
        signal: controller.signal,
      });
      if (!response.ok) throw await problemFrom(response, base);
      return await use(response);
    } catch (error) {
      (request.signal ?? signal).throwIfAborted();
      throw error instanceof ApiError ? error : unreachable(base, error);
    } finally {
      clearTimeout(timer);
      if (!request.isStream) unlink();
    }
  }

  async function send<T>(
    method: Method,
    path: string,
    request: Request,
    use: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { maxLost = MAX_LOST } = request;
    const since = performance.now();
    for (let lost = 0; ; ) {
      try {
        return await attempt(method, path, request, use);
      } catch (error) {
        const wait = error instanceof ApiError ? error.waitMs(lost) : undefined;
        if (wait === undefined) throw error;
        lost = (error as ApiError).isLost ? lost + 1 : 0;
        if (lost > maxLost || performance.now() - since + wait > retryMs) throw error;
        await sleep(wait, undefined, { signal: request.signal ?? signal });
      }
    }
  }

  const readAnswer = async <T>(response: Response): Promise<Answer<T>> => {
    const location = response.headers.get('Location');
    return {
      data: (await readJson(response, base)) as T,
      location: location && new URL(location, base).pathname,
      next: nextCursor(response.headers.get('Link')),
    };
  };

  return {
    get: <T>(path: string, request: Pick<Request, 'maxLost' | 'signal'> = {}): Promise<Answer<T>> =>
      send('GET', path, request, readAnswer<T>),
    change: <T>(method: Exclude<Method, 'GET'>, path: string, body?: object): Promise<Answer<T>> =>
      send(method, path, { body, headers: { 'Idempotency-Key': randomUUID() } }, readAnswer<T>),
    /** The body as it comes: it may be large. */
    open: (path: string): Promise<Response> =>
      send('GET', path, { isStream: true }, async (response) => response),
  };
}
