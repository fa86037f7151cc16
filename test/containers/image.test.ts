/** `docker build`, and the image as API and pipeline: read-only, without capabilities, as user 1000. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerName } from '../../deploy/local/docker.ts';
import { anyFreePort, anyPorts } from '../../deploy/local/ports.ts';
import { bringUp, type Stack } from '../../deploy/local/stack.ts';
import { parseConfig } from '../../schemas/config.ts';
import { collections } from '../../schemas/documents.ts';
import { createDriver, type Driver } from '../support/driver.ts';
import { removeStack } from '../support/remove-stack.ts';
import { asMembers, bigFile, file, ids } from '../support/rows.ts';
import { type Settings, uniqueSettings } from '../support/settings.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';
import { build, docker, exitCode, healthIs, leftovers, runOptions } from './docker.ts';
import { nodeImage } from './images.ts';

const MB = 1_000_000;
const MAX_CONTEXT = 10 * MB;
const MAX_ADDED = 120 * MB;

const bytesIn = (amount: string, unit: string) =>
  Number(amount) * { B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9 }[unit]!;

const sizeOf = async (image: string) =>
  Number(await docker('image', 'inspect', '--format', '{{.Size}}', image));

function expectSmallContext(output: string, pattern: RegExp): void {
  const [, amount, unit] = [...output.matchAll(pattern)].at(-1)!;
  process.stdout.write(`build context: ${amount} ${unit}\n`);
  expect(bytesIn(amount!, unit!)).toBeLessThan(MAX_CONTEXT);
}

test('the classic builder builds the image, from a small context and of a small size', async () => {
  const output = await build('headrace');
  expectSmallContext(output, /build context to Docker daemon +([\d.]+)([kMG]?B)/g);
  const added = (await sizeOf('headrace')) - (await sizeOf(nodeImage));
  process.stdout.write(`beyond the base: ${(added / MB).toFixed(1)} MB\n`);
  expect(added).toBeLessThan(MAX_ADDED);
});

test('BuildKit builds it, too', async () => {
  const output = await build('headrace-buildkit', { buildKit: true });
  expectSmallContext(output, /transferring context: ([\d.]+)([kKMG]?B)/g);
  expect(await docker('run', '--rm', 'headrace-buildkit', '--version')).toMatch(/^\d+\.\d+\.\d+$/);
  await docker('rmi', 'headrace-buildkit');
});

/** Every package with a version below node_modules, by npm's name. */
const listPackages = `
const { readdirSync, readFileSync, existsSync } = require('node:fs');
const found = [];
const read = (folder) => {
  const file = folder + '/package.json';
  if (existsSync(file)) { const { name, version } = JSON.parse(readFileSync(file)); found.push(name + '@' + version); }
  modules(folder + '/node_modules');
};
const modules = (folder) => {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith('.')) continue;
    if (name.startsWith('@')) for (const inner of readdirSync(folder + '/' + name)) read(folder + '/' + name + '/' + inner);
    else read(folder + '/' + name);
  }
};
modules('/app/node_modules');
const { components } = JSON.parse(readFileSync('/app/sbom.json'));
const listed = components.map(({ group, name, version }) => (group && !name.startsWith(group) ? group + '/' : '') + name + '@' + version);
console.log(JSON.stringify({ found: [...new Set(found)].sort(), listed: [...new Set(listed)].sort() }));
`;

test('the SBOM lists exactly the packages in the image', async () => {
  const output = await docker('run', '--rm', '--entrypoint', 'node', 'headrace', '-e', listPackages);
  const { found, listed } = JSON.parse(output) as { found: string[]; listed: string[] };
  expect(found.length).toBeGreaterThan(100);
  expect(listed).toEqual(found);
});

describe('the image as API and pipeline', () => {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-image-stack-'));
  const containers = { api: 'headrace-test-api', pipeline: 'headrace-test-pipeline' };
  let before: Awaited<ReturnType<typeof leftovers>>;
  let stack: Stack;
  let env: Settings;
  let driver: Driver;

  const start = (part: 'api' | 'pipeline') =>
    docker(
      ...['run', '-d', '--name', containers[part], '--health-interval', '1s', ...runOptions(env)],
      ...['headrace', part],
    );

  beforeAll(async () => {
    before = await leftovers();
    const wanted = { env: { ...process.env, HEADRACE_SERVERS: 'docker' }, wantedPorts: anyPorts };
    stack = await bringUp({ directory, report: () => {}, mongodCacheGb: 1, ...wanted });
    const ports = new Set<number>();
    for (let i = 0; i < 3; i++) ports.add(await anyFreePort(ports));
    const [api, metrics, pipeline] = [...ports].map(String);
    env = uniqueSettings(stack.addresses, {
      HEADRACE_API_PORT: api!,
      HEADRACE_API_METRICS_PORT: metrics!,
      HEADRACE_PIPELINE_PORT: pipeline!,
      // An outage must show before the test's own timeouts.
      HEADRACE_LIMIT_BACKEND_MS: '5000',
    });
    await Promise.all([start('api'), start('pipeline')]);
    driver = await createDriver(parseConfig(env));
  });
  afterAll(async () => {
    await driver?.close();
    for (const name of Object.values(containers)) await docker('rm', '-f', name).catch(() => {});
    await removeStack(directory);
    expect(await leftovers()).toEqual(before);
  });

  test('both become healthy, as user 1000 without any capability', async () => {
    for (const name of Object.values(containers)) {
      await healthIs(name, 'healthy');
      const pid =
        'const { readFileSync } = require("node:fs"); console.log(readFileSync("/proc/1/status", "utf8"))';
      const status = await docker('exec', name, 'node', '-e', pid);
      expect(status).toMatch(/^Uid:\s+1000\s+1000/m);
      expect(status).toMatch(/^CapEff:\s+0000000000000000$/m);
      await expect(docker('exec', name, 'node', '-e', 'fs.writeFileSync("/app/x", "")')).rejects.toThrow(
        'EROFS',
      );
    }
  });

  test('doctor finds nothing wrong', async () => {
    expect(await docker('run', '--rm', ...runOptions(env), 'headrace', 'doctor')).toContain('ok');
  });

  test('a load ends with exact counts', async () => {
    const partner = await driver.partner();
    const devices = ids(500);
    await driver.upload(partner, 'a.csv', file([...devices, ...devices.slice(0, 20)], 'visit'));
    const audience = await driver.createAudience(partner, 'a.csv');
    expect(await driver.ended(audience)).toMatchObject({ status: 2, rows: 520, uniqueDevices: 500 });
    expect(await driver.members(setNames.audience(audience, 1))).toEqual(asMembers(devices));
  });

  test('SIGTERM during a load: it exits with 0, and the next one finishes the load', async () => {
    const partner = await driver.partner();
    const rows = 1_000_000;
    await driver.upload(partner, 'big.csv', bigFile(rows, 'a'));
    const audience = await driver.createAudience(partner, 'big.csv');
    const batches = driver.db.collection(collections.ledger);
    await waitFor(() => batches.findOne({ job: audience }), { what: 'the first batch', everyMs: 10 });
    await docker('stop', '--time', '120', containers.pipeline);
    expect(await driver.jobs.findOne({ _id: audience })).not.toMatchObject({ phase: 'ended' });
    expect(await exitCode(containers.pipeline)).toBe(0);
    await docker('start', containers.pipeline);
    expect(await driver.ended(audience)).toMatchObject({ status: 2, rows, uniqueDevices: rows });
  });

  test('the health check turns unhealthy while MongoDB is gone', async () => {
    const mongod = containerName(stack.folder, 'mongod');
    await docker('stop', mongod);
    for (const name of Object.values(containers)) await healthIs(name, 'unhealthy');
    await docker('start', mongod);
    for (const name of Object.values(containers)) await healthIs(name, 'healthy');
  });

  test('SIGTERM ends both with 0', async () => {
    await docker('stop', '--time', '120', ...Object.values(containers));
    for (const name of Object.values(containers)) expect(await exitCode(name)).toBe(0);
  });
});
