/** The platform's HTTP API (documentation 1.2.0). Expected refusals are values. Honours Retry-After, up to a limit. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandFailed } from '../../pipeline/runtime/errors.ts';
import { tuning } from '../../schemas/tuning.ts';

export type Sent =
  | { outcome: 'accepted' }
  /** A file of this name was accepted before, possibly by an earlier attempt whose response was lost. */
  | { outcome: 'repeated'; isPerhapsThis: boolean }
  | { outcome: 'rejected'; message: string }
  /** No batch waits for statuses; for an amendment: not now. */
  | { outcome: 'conflict'; message: string; isPerhapsThis: boolean };

type Downloaded =
  | { outcome: 'archive'; body: AsyncIterable<Uint8Array>; length: number | undefined }
  | { outcome: 'nothing' }
  | { outcome: 'preparing' }
  /** The batch before lacks statuses. */
  | { outcome: 'conflict'; message: string };

export type DropPlatform = ReturnType<typeof createDropPlatform>;

interface Options {
  url: string;
  apiKey: string;
  /** For tests. */
  waitPercent?: number;
  opensAt?: number;
  now?: () => Date;
  wait?: (ms: number) => Promise<void>;
}

const TRIES = 6;
/** Max wait for a download to be prepared; the next run asks again. */
const PREPARING_MS = 30 * 60_000;
const DEFAULT_WAIT_S = { 202: 60, 429: 30 };
const MAX_WAIT_S = 600;
const BACKOFF_MS = 2_000;
const IDLE_MS = 60_000;
const MAX_MESSAGE = 300;

const pacific = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/Los_Angeles',
  hour: 'numeric',
  hourCycle: 'h23',
});
/** Daily from 1 am Pacific. */
export function isClosed(time: Date, opensAt: number): boolean {
  const hour = Number(pacific.format(time));
  return hour >= 1 && hour < opensAt;
}

const failed = (code: string, message: string, cause?: unknown) =>
  new CommandFailed(code, message, cause === undefined ? {} : { cause });

/** The platform's own message, cut to MAX_MESSAGE. */
async function messageOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '');
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text).slice(0, MAX_MESSAGE);
  } catch {
    return text.slice(0, MAX_MESSAGE);
  }
}

interface UploadAnswer {
  accepted?: { fileName?: string }[];
  rejected?: { fileName?: string; message?: string }[];
}

export function createDropPlatform({
  url,
  apiKey,
  waitPercent = 100,
  opensAt = tuning.dropOpensAt,
  now = () => new Date(),
  wait = (ms) => sleep((ms * waitPercent) / 100),
}: Options) {
  const base = url.replace(/\/$/, '');

  /** Retries as the platform asks. `isPerhapsDone`: an earlier attempt may have succeeded. */
  async function request(path: string, init: () => RequestInit) {
    let isPerhapsDone = false;
    for (let attempt = 1; ; attempt++) {
      if (isClosed(now(), opensAt))
        throw failed('drop_closed', 'DROP is closed daily from 1 to 3 am Pacific: run this again after 3 am');
      let response: Response | undefined;
      let problem: unknown;
      try {
        const { headers, ...rest } = init();
        response = await fetch(base + path, {
          ...rest,
          headers: { 'X-API-KEY': apiKey, Accept: 'application/zip, application/json', ...headers },
          redirect: 'error',
          signal: AbortSignal.timeout(IDLE_MS * 10),
        });
      } catch (error) {
        problem = error;
      }
      const isAgain = !response || response.status === 429 || response.status >= 500;
      if (response && !isAgain) {
        if (![401, 403, 404].includes(response.status)) return { response, isPerhapsDone };
        throw failed(
          'drop_refused',
          `DROP refused ${path} (${response.status}): ${await messageOf(response)}`,
        );
      }
      if (attempt === TRIES) {
        const reason = response ? `${response.status} ${await messageOf(response)}` : String(problem);
        throw failed('drop_unavailable', `DROP does not answer ${path}: ${reason}`, problem);
      }
      const told = response && waitOf(response, response.status === 429 ? DEFAULT_WAIT_S[429] : 0);
      isPerhapsDone ||= response?.status !== 429;
      await response?.body?.cancel();
      await wait(told || BACKOFF_MS * 2 ** (attempt - 1));
    }
  }

  async function send(path: string, name: string, csv: string): Promise<Sent> {
    const { response, isPerhapsDone: isPerhapsThis } = await request(path, () => {
      const body = new FormData();
      body.append('files', new Blob([csv], { type: 'text/csv' }), name);
      return { method: 'POST', body };
    });
    if (response.status === 409)
      return { outcome: 'conflict', message: await messageOf(response), isPerhapsThis };
    const answer = (await response.json().catch(() => ({}))) as UploadAnswer;
    if (answer.accepted?.some(({ fileName }) => fileName === name)) return { outcome: 'accepted' };
    const rejected = answer.rejected?.find(({ fileName }) => fileName === name) ?? answer.rejected?.[0];
    const message = (rejected?.message ?? `status ${response.status}`).slice(0, MAX_MESSAGE);
    return /already (been )?(uploaded|used|accepted)/i.test(message)
      ? { outcome: 'repeated', isPerhapsThis }
      : { outcome: 'rejected', message };
  }

  return {
    async download(): Promise<Downloaded> {
      for (let waited = 0; ; ) {
        const { response } = await request('/data/download', () => ({}));
        if (response.status === 409) return { outcome: 'conflict', message: await messageOf(response) };
        if (response.status === 202) {
          const ms = waitOf(response, DEFAULT_WAIT_S[202]);
          await response.body?.cancel();
          if (waited + ms > PREPARING_MS) return { outcome: 'preparing' };
          waited += ms;
          await wait(ms);
          continue;
        }
        if (response.status !== 200)
          throw failed('drop_unavailable', `DROP answered ${response.status}: ${await messageOf(response)}`);
        if (!/zip|octet-stream/.test(response.headers.get('content-type') ?? '')) {
          await response.body?.cancel();
          return { outcome: 'nothing' };
        }
        const length = Number(response.headers.get('content-length') ?? Number.NaN);
        return {
          outcome: 'archive',
          body: response.body as unknown as AsyncIterable<Uint8Array>,
          length: Number.isNaN(length) || response.headers.has('content-encoding') ? undefined : length,
        };
      }
    },
    upload: (name: string, csv: string) => send('/data/upload', name, csv),
    amend: (name: string, csv: string) => send('/data/amend', name, csv),
  };
}

/** Retry-After: seconds, or a date. */
function waitOf(response: Response, preset: number): number {
  const given = response.headers.get('retry-after');
  const seconds =
    given === null ? preset : /^\d+$/.test(given) ? Number(given) : (Date.parse(given) - Date.now()) / 1_000;
  return Math.min(Math.max(Number.isNaN(seconds) ? preset : seconds, 0), MAX_WAIT_S) * 1_000;
}
