/** deploy/compose.yaml, from nothing to a finished load, and its profile `monitoring`. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runTool } from '../../deploy/local/child.ts';
import { anyFreePort } from '../../deploy/local/ports.ts';
import { file, ids } from '../support/rows.ts';
import type { IssuedPartner } from '../support/run-headrace.ts';
import { waitFor } from '../support/wait-for.ts';
import { build, docker, leftovers } from './docker.ts';

const composeFile = fileURLToPath(new URL('../../deploy/compose.yaml', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'headrace-compose-'));
const project = `headrace-test-${randomBytes(3).toString('hex')}`;
const env = { HEADRACE_SECRET: randomBytes(32).toString('base64') };
const inner = { api: 8080, apiMetrics: 8081, pipeline: 8082, s3: 7070, prometheus: 9090 };
const ports = {} as Record<keyof typeof inner, number>;

/** The file's ports may be taken on this host, and the test uploads to the storage from outside. */
const override = () => `services:
  api: { ports: !override ["${published('api')}", "${published('apiMetrics')}"] }
  pipeline: { ports: !override ["${published('pipeline')}"] }
  s3: { ports: !override ["${published('s3')}"] }
  prometheus: { ports: !override ["${published('prometheus')}"] }
`;
const published = (name: keyof typeof inner) => `127.0.0.1:${ports[name]}:${inner[name]}`;
const compose = (...args: string[]) => {
  const files = ['-f', composeFile, '-f', join(directory, 'override.yaml')];
  return runTool('docker', ['compose', '-p', project, ...files, '--profile', 'monitoring', ...args], { env });
};

let before: Awaited<ReturnType<typeof leftovers>>;
beforeAll(async () => {
  // `compose up` would build it, too, but without the host's network.
  await build('headrace');
  before = await leftovers();
  const taken = new Set<number>();
  for (const name of Object.keys(inner) as (keyof typeof inner)[]) {
    ports[name] = await anyFreePort(taken);
    taken.add(ports[name]);
  }
  writeFileSync(join(directory, 'override.yaml'), override());
});
afterAll(async () => {
  await compose('down', '--volumes', '--timeout', '5').catch(() => {});
  rmSync(directory, { recursive: true, force: true });
});

test('one command brings everything up, healthy', async () => {
  await compose('up', '--detach', '--quiet-pull');
  const states = async () => {
    const all = await compose('ps', '--all', '--format', '{{.Service}} {{.State}} {{.Health}} {{.ExitCode}}');
    return all.trim().split('\n').sort();
  };
  const wanted = [
    'api running healthy 0',
    'kafka running healthy 0',
    'mongo running  0',
    'pipeline running healthy 0',
    'prometheus running  0',
    's3 running  0',
    'setup exited  0',
  ];
  await waitFor(async () => (await states()).join() === wanted.join(), {
    what: 'all services',
    everyMs: 1_000,
    progress: states,
  });
});

test('a file is loaded', async () => {
  const command = ['node', 'dist/headrace.cjs', 'admin', 'partner', 'create', '--name', 'compose', '--json'];
  const { api_key, s3 } = JSON.parse(await compose('exec', '-T', 'api', ...command)) as IssuedPartner;
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${ports.s3}`,
    region: s3.region,
    forcePathStyle: true,
    credentials: { accessKeyId: s3.access_key_id, secretAccessKey: s3.secret_access_key },
  });
  const devices = ids(300);
  const Body = file([...devices, ...devices.slice(0, 7)], 'visit');
  await client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: `${s3.prefix}a.csv`, Body }));
  const url = `http://127.0.0.1:${ports.api}/v2/firstparty/audience`;
  const headers = { Authorization: `Bearer ${api_key}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ name: 'visitors', file_path: 'a.csv' });
  const { audience_id } = (await (await fetch(url, { method: 'POST', headers, body })).json()) as {
    audience_id: number;
  };
  const ended = async () => {
    const record = (await (await fetch(`${url}/${audience_id}`, { headers })).json()) as { status: number };
    return record.status >= 2 && record;
  };
  const loaded = { status: 2, unique_devices: 300, uploaded_devices: 307 };
  expect(await waitFor(ended, { what: 'the load' })).toMatchObject(loaded);
});

test('Prometheus scrapes both processes and has the alerts', async () => {
  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`http://127.0.0.1:${ports.prometheus}/api/v1/${path}`);
    return ((await answer.json()) as { data: T }).data;
  };
  const up = async () => {
    const { activeTargets } = await ask<{ activeTargets: { scrapePool: string; health: string }[] }>(
      'targets',
    );
    return activeTargets.map(({ scrapePool, health }) => `${scrapePool} ${health}`).sort();
  };
  const wanted = ['headrace-api up', 'headrace-pipeline up'];
  await waitFor(async () => (await up()).join() === wanted.join(), { what: 'the targets', progress: up });
  const { groups } = await ask<{ groups: { rules: { health: string; name: string }[] }[] }>('rules');
  const rules = groups.flatMap((group) => group.rules);
  expect(rules.map(({ name }) => name)).toContain('HeadraceNoDispatcher');
  await waitFor(
    async () => {
      const { groups: now } = await ask<{ groups: { rules: { health: string }[] }[] }>('rules');
      return now.every((group) => group.rules.every(({ health }) => health === 'ok'));
    },
    { what: 'the rules to be evaluated' },
  );
});

test('it stops gracefully, and down --volumes leaves nothing behind', async () => {
  await compose('stop', '--timeout', '120');
  const names = (await compose('ps', '--all', '--format', '{{.Name}}')).trim().split('\n');
  for (const name of names)
    expect(['0', '143'], name).toContain(await docker('inspect', '--format', '{{.State.ExitCode}}', name));
  await compose('down', '--volumes');
  expect(await leftovers()).toEqual(before);
});
