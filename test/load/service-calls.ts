/** The calls of a partner that a bench makes: queue a load, follow it to its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Client } from '../../deploy/demo/client.ts';

export type Layout = 'a' | 'b';

const importPath = '/v1/marketplace/import';
const audiencePath = '/v2/firstparty/audience';
const pathOf: Record<Layout, string> = { a: importPath, b: audiencePath };
const idField: Record<Layout, string> = { a: 'import_log_id', b: 'audience_id' };
const DONE = 2;

export interface EndedLoad {
  readonly id: number;
  /** Of `performance.now()`: when the request was sent, when it was answered, and when an answer first said that the load is done. */
  readonly postedAt: number;
  readonly answeredAt: number;
  readonly doneAt: number;
  readonly record: Record<string, unknown>;
}

/** The limit of requests is a default too, and so is left on: what it refuses is asked again. */
async function patiently(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 429) return answer;
    await sleep(100);
  }
}

function expectSuccess(answer: Answer, what: string): Answer {
  if (answer.status < 300) return answer;
  throw new Error(`${what} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`);
}

export async function queueLoad(
  client: Client,
  layout: Layout,
  filePath: string,
  gzip: boolean,
): Promise<number> {
  const body =
    layout === 'a'
      ? { file_path: filePath, key_type: 0, compressed: gzip }
      : { name: `Bench ${filePath}`, file_path: filePath };
  const answer = await patiently(() => client.post(pathOf[layout], body));
  return Number(expectSuccess(answer, `POST ${pathOf[layout]}`).body[idField[layout]]);
}

export async function readLoad(client: Client, layout: Layout, id: number): Promise<Record<string, unknown>> {
  const path = `${pathOf[layout]}/${id}`;
  return expectSuccess(await patiently(() => client.get(path)), `GET ${path}`).body;
}

/** The record of a load that is done. A failed one is an error: nothing was measured. */
export async function untilDone(
  client: Client,
  layout: Layout,
  id: number,
  { everyMs, signal }: { everyMs: number; signal: AbortSignal },
): Promise<Record<string, unknown>> {
  for (;;) {
    const record = await readLoad(client, layout, id);
    if (Number(record.status) === DONE) return record;
    if (Number(record.status) > DONE) {
      throw new Error(`load ${id} has failed: ${JSON.stringify(record.errors ?? record.file)}`);
    }
    await sleep(everyMs, undefined, { signal });
  }
}

export async function loadAndWait(
  client: Client,
  layout: Layout,
  filePath: string,
  { gzip = false, ...wait }: { gzip?: boolean; everyMs: number; signal: AbortSignal },
): Promise<EndedLoad> {
  const postedAt = performance.now();
  const id = await queueLoad(client, layout, filePath, gzip);
  const answeredAt = performance.now();
  const record = await untilDone(client, layout, id, wait);
  return { id, postedAt, answeredAt, doneAt: performance.now(), record };
}
