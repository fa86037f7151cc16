/**
 * Rows that arrive faster than the sink merges them: all are validated while no sink runs, then a sink with little memory starts.
 * Memory stays bounded, the API responds throughout, and the counts are exact. FAULT_ROWS=50000000 sets the number of rows.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections } from '../../schemas/documents.ts';
import type { Driver } from '../support/driver.ts';
import { eventually } from '../support/eventually.ts';
import { type Managed, manage } from '../support/processes.ts';
import { bigFile } from '../support/rows.ts';
import { dropData } from '../support/settings.ts';
import { servers } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';
import { connectDriver } from './support/connect.ts';
import { newLogFolder } from './support/logs.ts';
import { faultSettings } from './support/service.ts';

const ROWS = Number(process.env.FAULT_ROWS ?? 1_500_000);
const ROWS_A_FILE = 250_000;
const FILES = Math.ceil(ROWS / ROWS_A_FILE);
const SINK_MB = 8;
/** A Node process with our dependencies, the driver's buffers and one fetch per partition, before it holds any device. */
const BASE_MB = 450;
const deadlineMs = 600_000 + ROWS / 50;

let driver: Driver;
let feeding: Managed;
let sink: Managed;
let api: Managed;
const { HEADRACE_TEST_BATCH_BYTES: _, ...settings } = faultSettings(servers(), {
  HEADRACE_SINK_MEMORY_MB: String(SINK_MB),
  // Lets validate run ahead of the sink that is not running.
  HEADRACE_TEST_DEVICES_AHEAD_MB: '10000',
});
beforeAll(async () => {
  driver = await connectDriver(settings);
  await ensureIndexes(driver.db);
  const logs = newLogFolder();
  feeding = await manage('pipeline', settings, { logs, args: ['--stages', 'dispatch,split,validate'] });
  sink = await manage('pipeline', settings, { logs, args: ['--stages', 'sink'] });
  api = await manage('api', settings, { logs });
});
afterAll(async () => {
  await Promise.all([feeding?.kill(), sink?.kill(), api?.kill()]);
  await driver?.close();
  await dropData(settings);
});

const residentMb = ({ pid }: Managed) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024;

it(`${ROWS.toLocaleString('en')} rows ahead of a sink with ${SINK_MB} MB`, {
  timeout: 2_700_000 + 2 * deadlineMs,
}, async () => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const body = bigFile(ROWS_A_FILE, attribute);
  // The same rows with other first digits: other devices, without the time to generate them.
  for (let n = 0; n < FILES; n++) {
    const shifted = Buffer.from(body);
    const tag = n.toString(16).padStart(4, '0');
    for (let at = 0; at < shifted.length; at += body.length / ROWS_A_FILE) shifted.write(tag, at, 'latin1');
    await driver.upload(partner, `load/${n}.csv`, shifted);
  }
  feeding.start();
  api.start();
  await Promise.all([feeding.ready(), api.ready()]);
  let slowest = 0;
  let peakFeedingMb = 0;
  let over = false;
  const asking = (async () => {
    while (!over) {
      peakFeedingMb = Math.max(peakFeedingMb, residentMb(feeding));
      const began = performance.now();
      const { status } = await fetch(`${api.url}/v1/marketplace/import`);
      expect(status).toBe(401);
      await fetch(`${api.url}/health/live`).then((answer) => expect(answer.status).toBe(200));
      slowest = Math.max(slowest, performance.now() - began);
      await sleep(100);
    }
  })();
  const job = await driver.import(partner, 'load/', { compressed: false });
  const loaded = async () => (await driver.filesOf(job)).filter(({ status }) => status === 2).length;
  await waitFor(async () => (await loaded()) === FILES, {
    what: 'all rows validated, none sunk',
    progress: loaded,
  });
  sink.start();
  let peakSinkMb = 0;
  const done = () => driver.jobs.findOne({ _id: job, phase: 'ended' });
  await waitFor(
    async () => {
      peakSinkMb = Math.max(peakSinkMb, residentMb(sink));
      return done();
    },
    { what: 'the end of the job', progress: driver.openJobs },
  );
  over = true;
  await asking;
  const ended = await driver.ended(job);
  const unique = await driver.sets.count(setNames.attribute(attribute));
  console.info(
    `sink: ${Math.round(peakSinkMb)} MB at most, the stages before it: ${Math.round(peakFeedingMb)} MB; API: ${Math.round(slowest)} ms for the slowest pair of answers`,
  );
  expect(ended).toMatchObject({ status: 2, rows: FILES * ROWS_A_FILE, errors: null });
  expect([ended.uniqueDevices, unique]).toEqual([FILES * ROWS_A_FILE, FILES * ROWS_A_FILE]);
  expect(readFileSync(sink.log, 'utf8')).toContain('devices spilled');
  // Spills are removed after the last ack.
  await eventually(() => driver.db.collection(collections.spills).countDocuments()).toBe(0);
  expect(peakSinkMb).toBeLessThan(BASE_MB);
  expect(slowest).toBeLessThan(60_000);
});
