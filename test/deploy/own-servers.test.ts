/** `headrace up` with servers that it did not start, provisioned and used with the user's commands. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { identify, isRunning } from '../../deploy/local/process-identity.ts';
import { readState } from '../../deploy/local/state.ts';
import { mongoHosts } from '../../pipeline/runtime/errors.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { parseConfig } from '../../schemas/config.ts';
import { collections, type InstallationDocument } from '../../schemas/documents.ts';
import { eventually } from '../support/eventually.ts';
import { type IssuedPartner, lastJsonLine, runHeadrace, storageOf } from '../support/run-headrace.ts';
import { servers, withOwnBucket } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

interface Described {
  api_url: string;
  console_url: string;
  registry_url: string;
  kafka_brokers: string[];
  processes: { kafka: null; mongod: null; s3: null; api: number; pipeline: number };
}

let folder: string;
let state: string;
let env: Record<string, string>;
let described: Described;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headrace-own-'));
  state = join(folder, '.headrace');
  env = await withOwnBucket();
});
afterAll(async () => {
  await runHeadrace(['down', '--purge', '--yes', '--state', state]);
  rmSync(folder, { recursive: true, force: true });
});

test('starts only the API and the pipeline where the environment names the servers', async () => {
  const outcome = await runHeadrace(['up', '--detach', '--json', '--state', state], env);
  expect(outcome.code, outcome.stderr).toBe(0);
  described = lastJsonLine<Described>(outcome);
  expect(described.kafka_brokers).toEqual(servers().kafkaBrokers);
  expect(described.processes).toMatchObject({ kafka: null, mongod: null, s3: null });
  const status = async () => {
    const { code, stdout } = await runHeadrace(['status', '--state', state]);
    return [code, stdout.match(/ external /g)?.length];
  };
  await eventually(status).toEqual([0, 3]);
});

test('started again, says that it is running in the background and how to stop it, and leaves it alone', async () => {
  const ours = [described.processes.api, described.processes.pipeline].map(identify);
  const again = await runHeadrace(['up', '--state', state], env);
  expect(again.code, again.stderr).toBe(0);
  expect(again.stderr).toContain(
    `headrace is already running in the background. To stop it: headrace down --state ${state}`,
  );
  const elsewhere = await runHeadrace(['up', '--port', '1', '--state', state], env);
  expect(elsewhere.code).toBe(1);
  expect(elsewhere.stderr).toMatch(
    /api is already running on port \d+, and --port asks for 1: stop it first/,
  );
  expect(ours.every(isRunning)).toBe(true);
});

test('without servers in the environment, commands use the stack in .headrace', async () => {
  for (const args of [
    ['topics'],
    ['tap', 'jobs'],
    ['admin', 'partner', 'list'],
    ['replay', 'jobs', '--dry-run'],
  ]) {
    const outcome = await runHeadrace(args, {}, folder);
    expect(outcome.code, outcome.stderr).toBe(0);
    const without = await runHeadrace(args, {}, tmpdir());
    expect(without.code).toBe(1);
    expect(without.stderr).toContain('no stack has been started in .headrace: run headrace up');
  }
  const status = await runHeadrace(['status'], {}, folder);
  expect(status.stdout).toContain(described.api_url);
  expect(status.stdout).toContain(servers().s3.endpoint);
});

test('admin commands are told only the folder; an upload and a POST reach status 2', async () => {
  const admin = async <T>(...args: string[]) => {
    const outcome = await runHeadrace(['admin', ...args, '--json', '--state', state]);
    expect(outcome.code, outcome.stderr).toBe(0);
    return lastJsonLine<T>(outcome);
  };
  expect((await fetch(described.console_url)).status).toBe(200);
  expect((await fetch(`${described.registry_url}/subjects`)).status).toBe(200);
  const { partner_id, api_key, s3 } = await admin<IssuedPartner>('partner', 'create', '--name', 'Acme');
  const made = ['attribute', 'create', '--partner', partner_id, '--name', 'Likes coffee'];
  const { attribute_id } = await admin<{ attribute_id: number }>(...made);
  const client = storageOf(s3);
  const rows = `11111111-2222-3333-4444-555555555555,${attribute_id}\n11111111-2222-3333-4444-666666666666,${attribute_id}\n`;
  await client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: `${s3.prefix}day.csv`, Body: rows }));
  client.destroy();
  const headers = { Authorization: `Bearer ${api_key}`, 'Content-Type': 'application/json' };
  const url = `${described.api_url}/v1/marketplace/import`;
  const body = JSON.stringify({ file_path: 'day.csv', key_type: 0 });
  const queued = (await (await fetch(url, { method: 'POST', headers, body })).json()) as {
    import_log_id: number;
  };
  const done = await waitFor(
    async () => {
      const log = (await (await fetch(`${url}/${queued.import_log_id}`, { headers })).json()) as {
        status: number;
      };
      return log.status >= 2 && log;
    },
    { what: 'the import to end' },
  );
  expect(done).toMatchObject({ status: 2, unique_devices: '2', total_rows: '2' });
});

test('an admin command that has reached another stack’s MongoDB does nothing, and says so', async () => {
  const config = parseConfig(env);
  const mongo = await connectMongo(config);
  const stored = mongo.db.collection<InstallationDocument>(collections.installation);
  const partners = mongo.db.collection(collections.partners);
  const create = () => runHeadrace(['admin', 'partner', 'create', '--name', 'Lost', '--state', state]);
  const ours = (await stored.findOne({ _id: 'id' }))!;
  expect(readState(state)!.state.installation).toBe(ours.value);
  const known = await partners.countDocuments();
  for (const others of [{ ...ours, value: 'of another stack' }, undefined]) {
    await stored.deleteOne({ _id: 'id' });
    if (others) await stored.insertOne(others);
    const { code, stdout, stderr } = await create();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `headrace: MongoDB at ${mongoHosts(config.mongoUrl)} does not belong to the stack in ${state}; nothing was changed. Start that stack with: headrace up --state ${state}\n`,
    );
  }
  expect(await partners.countDocuments()).toBe(known);
  expect(await mongo.db.collection(collections.audit).countDocuments({ 'details.name': 'Lost' })).toBe(0);
  await stored.insertOne(ours);
  expect((await create()).code).toBe(0);
  await mongo.close();
});

test('down stops our two processes and leaves the servers alone', async () => {
  const ours = [described.processes.api, described.processes.pipeline].map(identify);
  expect(ours.every(isRunning)).toBe(true);
  const outcome = await runHeadrace(['down', '--json', '--state', state]);
  expect(lastJsonLine(outcome)).toEqual({ stopped: ['api', 'pipeline'], purged: false });
  expect(ours.some(isRunning)).toBe(false);
  expect((await fetch(`${servers().s3.endpoint}/_health`)).ok).toBe(true);
});
