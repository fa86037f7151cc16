/** What the image runs: the compiled service with production dependencies only, on a read-only file system. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { composition } from '../../schemas/http-composition.ts';
import { readReport } from '../api/composition-scene.ts';
import { createCaller } from '../api/support.ts';
import { createDriver, type Driver } from '../support/driver.ts';
import { file, ids } from '../support/rows.ts';
import { type OwnService, startService } from '../support/stack.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Links the packages that `npm ci --omit=dev` would install. */
function linkPackages(into: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  for (const [path, { dev, devOptional }] of Object.entries(lock.packages)) {
    const isTopLevel = /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path);
    if (!isTopLevel || dev || devOptional) continue;
    const target = join(root, path);
    if (!statSync(target, { throwIfNoEntry: false })) continue;
    mkdirSync(dirname(join(into, path)), { recursive: true });
    symlinkSync(target, join(into, path));
  }
}

let service: OwnService;
let driver: Driver;
let dist: string;
const filesIn = () => readdirSync(dist, { recursive: true }).sort();
let built: unknown[];

beforeAll(async () => {
  const app = mkdtempSync(join(inject('scratch'), 'image-'));
  dist = join(app, 'dist');
  execFileSync(process.execPath, [join(root, 'deploy', 'build.mjs'), dist]);
  linkPackages(app);
  built = filesIn();
  service = await startService({
    program: [join(dist, 'headrace.cjs')],
    env: {
      NODE_ENV: 'production',
      // Packages resolve each other where they are linked, not in the checkout.
      NODE_PRESERVE_SYMLINKS: '1',
      NODE_PRESERVE_SYMLINKS_MAIN: '1',
      HOME: '/nonexistent',
      TMPDIR: '/nonexistent',
    },
  });
  driver = await createDriver(service.config);
});
afterAll(async () => {
  await driver?.close();
  await service?.stop();
});

test('it starts and loads a file, with exact counts', async () => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const devices = ids(5_000);
  await driver.upload(partner, 'day.csv', file([...devices, ...devices.slice(0, 100)], attribute));
  const job = await driver.ended(await driver.import(partner, 'day.csv'));
  expect([job.status, job.rows, job.uniqueDevices]).toEqual([2, 5_100, 5_000]);
});

test('its thread computes a report', async () => {
  const partner = await driver.partner();
  const { key } = await driver.stores.apiKeys.create(service.config.secret, partner._id);
  await driver.upload(partner, 'audience.csv', file(ids(1_000), 'visit'));
  const audience = await driver.createAudience(partner, 'audience.csv');
  await driver.ended(audience);
  const { status, json } = await readReport(createCaller(service.apiUrl, key), audience);
  expect([status, composition.parse(json).unique_devices]).toEqual([200, 1_000]);
});

test('it serves the reference, the console, the command line and the metrics', async () => {
  for (const path of ['/docs', '/docs/topics', '/openapi.json', '/console/', '/cli', '/cli/sha256'])
    expect((await fetch(service.apiUrl + path)).status, path).toBe(200);
  expect((await fetch(`${service.metricsUrl}/metrics`)).status).toBe(200);
  expect((await fetch(`${service.pipelineUrl}/metrics`)).status).toBe(200);
});

test('it has written nothing beside itself', () => {
  expect(filesIn()).toEqual(built);
});
