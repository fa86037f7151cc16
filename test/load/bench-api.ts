/**
 * Compares the API with a bare Koa server in the same run: 64 connections list 100 import logs, then queue imports, each of which
 * must be stored exactly once. Exit code 1 if a ratio is below its target.
 *
 * One process of each, with Kafka and mongod on the same machine and no pipeline. First the list, then the imports, in short rounds
 * that alternate with the bare server. The result is the median ratio, because a shared machine may be half as fast a few seconds
 * later, for both. The first round of each is a warm-up.
 *
 * npx tsx test/load/bench-api.ts [--seconds 2] [--rounds 7] [--json]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { addressesAsEnvironment } from '../../deploy/local/addresses.ts';
import { anyFreePort } from '../../deploy/local/ports.ts';
import { bringUp, takeDown } from '../../deploy/local/stack.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { draftPartner } from '../../pipeline/stores/partners.ts';
import { parseConfig } from '../../schemas/config.ts';
import { collections } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { waitFor } from '../support/wait-for.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string' }, rounds: { type: 'string' }, json: { type: 'boolean' } },
});
const duration = Number(values.seconds ?? 2);
const rounds = Number(values.rounds ?? 7);
const least = { list: 0.35, post: 0.2 };
const IMPORT = '/v1/marketplace/import';
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const say = (line: string) => process.stderr.write(`${line}\n`);
const children: ChildProcess[] = [];

async function load(url: string, request: Partial<autocannon.Request> = {}) {
  const result = await autocannon({ url, connections: 64, duration, requests: [request] });
  return {
    perSecond: result['2xx'] / result.duration,
    p99: result.latency.p99,
    failed: result.errors + result.non2xx,
  };
}
type Load = Awaited<ReturnType<typeof load>>;

const median = (list: number[]) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;
const summed = (loads: Load[]): Load => ({
  perSecond: median(loads.map(({ perSecond }) => perSecond)),
  p99: median(loads.map(({ p99 }) => p99)),
  failed: loads.reduce((sum, { failed }) => sum + failed, 0),
});

interface Turn {
  bare: Load;
  api: Load;
}
const shareOf = ({ bare, api }: Turn) => api.perSecond / bare.perSecond;

async function besideBare(bareUrl: string, loadApi: () => Promise<Load>): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let round = 0; round <= rounds; round++)
    turns.push({ bare: await load(bareUrl), api: await loadApi() });
  return turns.slice(1);
}

async function startBare(): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', file('bare-server.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [port] = await once(child.stdout!, 'data');
  return `http://127.0.0.1:${String(port).trim()}/`;
}

async function startApi(env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [file('../../deploy/headrace.mjs'), 'api'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  const url = `http://127.0.0.1:${env.HEADRACE_API_PORT}`;
  await waitFor(async () => (await fetch(`${url}/health/ready`)).ok, { what: 'the API to be ready' });
  return url;
}

const directory = mkdtempSync(join(tmpdir(), 'headrace-bench-'));
let missed = false;
try {
  const { addresses } = await bringUp({
    directory,
    report: say,
    wantedPorts: { kafka: 0, kafkaController: 0, mongod: 0, s3: 0 },
  });
  const env: Record<string, string> = {
    ...addressesAsEnvironment(addresses),
    HEADRACE_MONGO_DATABASE: `bench${randomBytes(4).toString('hex')}`,
    HEADRACE_TOPIC_PREFIX: `bench${randomBytes(4).toString('hex')}`,
    HEADRACE_SECRET: randomBytes(32).toString('base64'),
    HEADRACE_API_PORT: String(await anyFreePort()),
    HEADRACE_API_METRICS_PORT: String(await anyFreePort()),
    HEADRACE_RATE_PER_SECOND: '1000000',
    HEADRACE_MAX_PENDING_JOBS: '10000000',
  };
  const config = parseConfig(env);
  const mongo = await connectMongo(config);
  const jobs = mongo.db.collection<JobDocument>(collections.jobs);
  const partner = draftPartner('bench');
  const { partners, apiKeys } = createApiStores(mongo.db);
  await partners.insert(partner);
  const { key } = await apiKeys.create(config.secret, partner._id);
  const [bareUrl, apiUrl] = [await startBare(), await startApi(env)];

  const accepted: number[] = [];
  const post: Partial<autocannon.Request> = {
    method: 'POST',
    path: IMPORT,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ file_path: 'day/devices.csv', key_type: 0 }),
    onResponse: (status, body) => {
      if (status === 202) accepted.push(JSON.parse(body).import_log_id);
    },
  };
  const get: Partial<autocannon.Request> = { path: IMPORT, headers: { authorization: `Bearer ${key}` } };
  for (let i = 0; i < 100; i++)
    await fetch(apiUrl + IMPORT, {
      method: 'POST',
      headers: post.headers as Record<string, string>,
      body: post.body as string,
    });

  const lists = await besideBare(bareUrl, () => load(apiUrl, get));
  const posts = await besideBare(bareUrl, () => load(apiUrl, post));
  const bare = summed([...lists, ...posts].map((turn) => turn.bare));
  const list = summed(lists.map((turn) => turn.api));
  const queued = summed(posts.map((turn) => turn.api));

  const stored = await jobs.find({ partner: partner._id }).project<{ _id: number }>({ _id: 1 }).toArray();
  const present = new Set(stored.map(({ _id }) => _id));
  const lost = accepted.filter((id) => !present.has(id)).length;
  const twice = accepted.length - new Set(accepted).size;
  const shares = { list: median(lists.map(shareOf)), post: median(posts.map(shareOf)) };
  missed =
    shares.list < least.list ||
    shares.post < least.post ||
    lost > 0 ||
    twice > 0 ||
    list.failed + queued.failed > 0;

  const line = (name: string, { perSecond, p99, failed }: Load, share?: number, atLeast?: number) =>
    say(
      `${name.padEnd(22)} ${perSecond.toFixed(0).padStart(7)} /s   p99 ${String(p99).padStart(4)} ms   failed ${failed}` +
        (share === undefined ? '' : `   share ${share.toFixed(2)} (at least ${atLeast})`),
    );
  line('bare Koa, constant body', bare);
  line('GET list of 100', list, shares.list, least.list);
  line('POST import', queued, shares.post, least.post);
  const each = (turns: Turn[]) => turns.map((turn) => shareOf(turn).toFixed(2)).join(' ');
  say(`shares by round: list ${each(lists)}; post ${each(posts)}`);
  say(`${accepted.length} ids returned, ${lost} lost, ${twice} duplicated`);
  if (values.json)
    process.stdout.write(
      `${JSON.stringify({ bare, list, post: queued, shares, accepted: accepted.length, lost, twice, missed })}\n`,
    );
  await mongo.client.db(config.mongoDatabase).dropDatabase();
  await mongo.close();
} finally {
  for (const child of children) child.kill('SIGTERM');
  await takeDown(directory, () => {}, { purge: true });
  rmSync(directory, { recursive: true, force: true });
}
process.exit(missed ? 1 : 0);
