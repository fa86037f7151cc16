/** A partner's API calls in a benchmark: queue a load, append to an audience, wait for the end of either. */
import { setTimeout as sleep } from 'node:timers/promises';

export type Layout = 'a' | 'b';

const pathOf: Record<Layout, string> = { a: '/v1/marketplace/import', b: '/v2/firstparty/audience' };
const idField: Record<Layout, string> = { a: 'import_log_id', b: 'audience_id' };
const DONE = 2;
const REFUSED_FOR_NOW = 429;
const UNAVAILABLE = 503;

export type LoadRecord = Record<string, unknown>;

export interface Wait {
  readonly everyMs: number;
  readonly signal: AbortSignal;
}

export interface TimedLoad {
  readonly id: number;
  readonly record: LoadRecord;
  /** From the request to the first response that says done. */
  readonly seconds: number;
}

interface OwnCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

export type PartnerCalls = ReturnType<typeof createPartnerCalls>;

export function createPartnerCalls(apiUrl: string, apiKey: string) {
  async function call(method: string, path: string, body?: object): Promise<LoadRecord> {
    for (;;) {
      const response = await fetch(apiUrl + path, {
        method,
        headers: {
          Authorization: `Bearer ${apiKey}`,
          ...(body ? { 'Content-Type': 'application/json' } : {}),
        },
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(60_000),
      });
      const text = await response.text();
      if (response.ok) return text === '' ? {} : (JSON.parse(text) as LoadRecord);
      // The rate limit stays on, because it is a default. Like any client, retry when refused; reads also when unavailable.
      const isForNow =
        response.status === REFUSED_FOR_NOW || (method === 'GET' && response.status === UNAVAILABLE);
      if (!isForNow) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`);
      await sleep(100);
    }
  }

  async function queue(layout: Layout, filePath: string, gzip = false): Promise<number> {
    const body =
      layout === 'a'
        ? { file_path: filePath, key_type: 0, compressed: gzip }
        : { name: `Bench ${filePath}`, file_path: filePath };
    return Number((await call('POST', pathOf[layout], body))[idField[layout]]);
  }

  /** Queues an import from the partner's own storage. */
  async function queueOwn(url: string, credentials: OwnCredentials): Promise<number> {
    const body = { file_path: url, key_type: 0, path_type: 1, credentials, compressed: false };
    return Number((await call('POST', pathOf.a, body))[idField.a]);
  }

  const read = (layout: Layout, id: number) => call('GET', `${pathOf[layout]}/${id}`);

  /** A failed load is an error: it measures nothing. */
  async function untilDone(layout: Layout, id: number, { everyMs, signal }: Wait): Promise<LoadRecord> {
    for (const since = performance.now(); ; ) {
      const asked = performance.now();
      const record = await read(layout, id);
      const tookMs = performance.now() - asked;
      const status = Number(record.status);
      if (status === DONE) return record;
      if (status > DONE) {
        const why = record.errors ?? record.file;
        throw new Error(`load ${id} has failed: ${JSON.stringify(why).slice(0, 2_000)}`);
      }
      // Poll a long load less often, because polling slows it down, and one with a long list of files even less.
      const pauseMs = Math.max(everyMs, (performance.now() - since) / 200, 4 * tookMs);
      await sleep(pauseMs, undefined, { signal });
    }
  }

  /** From the request to the first response that says done. */
  async function privacy(body: object, { everyMs, signal }: Wait) {
    const path = '/v1/privacy/requests';
    const since = performance.now();
    const { request_id: id } = await call('POST', path, body);
    for (;;) {
      const record = await call('GET', `${path}/${id}`);
      if (record.status === DONE) return { record, seconds: (performance.now() - since) / 1_000 };
      if (Number(record.status) > DONE)
        throw new Error(`request ${id} has failed: ${JSON.stringify(record.errors)}`);
      await sleep(everyMs, undefined, { signal });
    }
  }

  const reportOf = (audience: number) => `${pathOf.b}/${audience}/composition`;
  const queueReport = (audience: number) => call('POST', reportOf(audience));

  async function timed(layout: Layout, wait: Wait, begin: () => Promise<number>): Promise<TimedLoad> {
    const since = performance.now();
    const id = await begin();
    const record = await untilDone(layout, id, wait);
    return { id, record, seconds: (performance.now() - since) / 1_000 };
  }

  return {
    queue,
    queueOwn,
    read,
    privacy,
    listImports: () => call('GET', pathOf.a),
    queueReport,
    /** From the request to the report. */
    async compose(
      audience: number,
      { everyMs, signal }: Wait,
    ): Promise<{ report: LoadRecord; seconds: number }> {
      const since = performance.now();
      await queueReport(audience);
      for (;;) {
        const report = await call('GET', reportOf(audience));
        if (!('progress' in report)) return { report, seconds: (performance.now() - since) / 1_000 };
        await sleep(everyMs, undefined, { signal });
      }
    },
    untilDone,
    clear: (audience: number) => call('PUT', `${pathOf.b}/${audience}`),
    deleteKeys: (keys: readonly string[], wait: Wait) =>
      timed('a', wait, async () => {
        const record = await call('DELETE', pathOf.a, { key_type: 0, keys });
        return Number(record[idField.a]);
      }),
    load: (layout: Layout, filePath: string, gzip: boolean, wait: Wait) =>
      timed(layout, wait, () => queue(layout, filePath, gzip)),
    append: (audience: number, filePath: string, wait: Wait) =>
      timed('b', wait, async () => {
        await call('PATCH', `${pathOf.b}/${audience}`, { file_path: filePath });
        return audience;
      }),
  };
}
