/**
 * A stand-in for California's DROP, which tests cannot reach: built from its documentation 1.2.0 (July 2026), with its failure
 * modes. It records what clients send, including what they must not send.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { zipSync } from 'fflate';

export const BROKER = '4821';
const KEY = 'drop-test-key';
const NAME = /^(\d{8})_(\d{4})_(NDZ|Email|Phone|MAID|NameVIN|CTVID)(?:_[A-Za-z0-9]{1,10})?\.csv$/;

export interface Entry {
  id: string;
  hash: string;
}
type Lists = Record<string, Entry[]>;

/** Fails the next request of a path, before it is processed or after it has taken effect. */
export type Fault =
  | { status: 429 | 500 | 503; retryAfter?: number }
  | 'cut before'
  | 'cut after'
  /** Rejects a whole file for a reason that the client cannot know. */
  | 'reject';

interface Batch {
  date: string;
  lists: Lists;
  removed: (Entry & { list: string })[];
  names: Set<string>;
  waiting: Set<string>;
}

export type PlatformServer = Awaited<ReturnType<typeof startPlatform>>;

export async function startPlatform() {
  let next: Pick<Batch, 'lists' | 'removed'> | undefined;
  let open: Batch | undefined;
  let preparing = 0;
  let batches = 0;
  let again: Buffer | undefined;
  const faults = new Map<string, Fault[]>();
  /** The current status of each id. */
  const statuses = new Map<string, number>();
  const amended = new Map<string, number>();
  const delivered = new Set<string>();
  /** Requests that no client may make. */
  const violations: string[] = [];
  const requests: string[] = [];
  const accepted: string[] = [];

  const csv = (header: string, rows: string[]) => Buffer.from([header, ...rows, ''].join('\r\n'));

  function archiveOf({ date, lists, removed }: Batch): Buffer {
    const files = Object.entries(lists).map(([list, entries]): [string, Uint8Array] => [
      `${date}_${BROKER}_${list}.csv`,
      csv(
        'ID,Hash',
        entries.map(({ id, hash }) => `${id},${hash}`),
      ),
    ]);
    if (removed.length > 0)
      files.push([
        `${date}_${BROKER}_Removed.csv`,
        csv(
          'ID,Hash,ListType',
          removed.map(({ id, hash, list }) => `${id},${hash},${list}`),
        ),
      ]);
    return Buffer.from(zipSync(Object.fromEntries(files)));
  }

  const answer = (response: ServerResponse, status: number, body: object, headers = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

  function download(response: ServerResponse): void {
    if (preparing > 0) {
      preparing--;
      answer(response, 202, { message: 'The package is being created.' }, { 'retry-after': '1' });
      return;
    }
    if (again) {
      sendArchive(response, again);
      again = undefined;
      return;
    }
    if (open) {
      answer(response, 409, { message: 'Complete the current batch or contact DROP support.' });
      return;
    }
    if (!next) {
      answer(response, 200, { message: 'No new consumer request data is available.' });
      return;
    }
    const date = `202611${String(10 + batches++).padStart(2, '0')}`;
    const waiting = new Set(Object.values(next.lists).flatMap((list) => list.map(({ id }) => id)));
    open = { date, ...next, names: new Set(), waiting };
    for (const id of waiting) delivered.add(id);
    next = undefined;
    const archive = archiveOf(open);
    if (waiting.size === 0) open = undefined;
    sendArchive(response, archive);
  }

  const sendArchive = (response: ServerResponse, archive: Buffer) =>
    response
      .writeHead(200, {
        'content-type': 'application/zip',
        'content-length': archive.length,
        'content-disposition': `attachment; filename="DROP.zip"`,
      })
      .end(archive);

  /** Why a whole file is invalid. */
  function refusal(batch: Batch | undefined, name: string, text: string): string | undefined {
    const [, , broker, list] = NAME.exec(name) ?? [];
    if (!list || broker !== BROKER) return 'The file name does not follow the naming convention.';
    if (batch && !batch.lists[list]) return 'There is no such list in the current download.';
    if (batch?.names.has(name) || accepted.includes(name))
      return 'A file with this name was already uploaded for the current download. Use a unique suffix and try again';
    if (text.split('\n')[0]!.trimEnd() !== 'Id,Status') return 'Invalid CSV header. Expected: Id,Status.';
    return undefined;
  }

  function take(path: string, name: string, text: string): void {
    accepted.push(name);
    for (const line of text.split(/\r?\n/).slice(1)) {
      if (line === '') continue;
      const [id = '', status = ''] = line.split(',');
      if (!/^[A-Za-z0-9]{12}$/.test(id) || !['2', '3', '4', '5'].includes(status))
        violations.push(`a row is ${line}`);
      if (!delivered.has(id)) violations.push(`${id} was never delivered`);
      if (path === '/data/amend') {
        if (!statuses.has(id)) violations.push(`${id} is amended and has no status`);
        if (statuses.get(id) === Number(status)) violations.push(`${id} is amended to what it was`);
        amended.set(id, Number(status));
      } else if (!open!.waiting.delete(id)) violations.push(`${id} was sent twice`);
      statuses.set(id, Number(status));
    }
    if (path === '/data/upload') open!.names.add(name);
  }

  async function upload(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    isRejected: boolean,
  ) {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = await new Response(Buffer.concat(chunks), {
      headers: { 'content-type': request.headers['content-type']! },
    }).formData();
    if (path === '/data/upload' && !open) {
      answer(response, 409, { message: 'No active download is waiting for responses.' });
      return;
    }
    const results = { accepted: [] as object[], rejected: [] as object[] };
    for (const file of form.getAll('files') as File[]) {
      const text = await file.text();
      const message = isRejected
        ? 'The file could not be processed.'
        : refusal(path === '/data/upload' ? open : undefined, file.name, text);
      if (message) results.rejected.push({ fileName: file.name, message });
      else {
        take(path, file.name, text);
        results.accepted.push({ fileName: file.name, fileSizeBytes: file.size });
      }
    }
    if (open?.waiting.size === 0) open = undefined;
    answer(response, results.accepted.length > 0 ? 202 : 400, {
      message: 'Upload received.',
      acceptedCount: results.accepted.length,
      rejectedCount: results.rejected.length,
      ...results,
    });
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!;
    requests.push(`${request.method} ${path}`);
    if (request.headers['x-api-key'] !== KEY) {
      answer(response, 401, { message: 'API key is missing or invalid.' });
      return;
    }
    const fault = faults.get(path)?.shift();
    if (fault === 'cut before') {
      request.socket.destroy();
      return;
    }
    if (typeof fault === 'object') {
      const headers = fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) };
      answer(response, fault.status, { message: 'Try again later.' }, headers);
      return;
    }
    // The response is lost, but the request has taken effect.
    if (fault === 'cut after')
      response.writeHead = () => Object.assign(response, { end: () => request.socket.destroy() });
    if (path === '/data/download') download(response);
    else if (path === '/data/upload' || path === '/data/amend')
      await upload(path, request, response, fault === 'reject');
    else answer(response, 404, { message: 'The requested endpoint was not found.' });
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => {
      violations.push(String(error));
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: KEY,
    ...{ statuses, amended, violations, requests, accepted },
    get isOpen() {
      return open !== undefined;
    },
    /** The content of the next download. */
    publish(lists: Lists, removed: (Entry & { list: string })[] = []) {
      next = { lists, removed };
    },
    prepareFor(times: number) {
      preparing = times;
    },
    fault(path: string, ...next: Fault[]) {
      faults.set(path, [...(faults.get(path) ?? []), ...next]);
    },
    /** What DROP support does when asked for a second download. */
    allowDownloadAgain() {
      if (open) again = archiveOf(open);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
