/** Storage faults: errors, stalls, cuts and resets are retried from the byte reached; a file that changes is rejected as a whole. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { type Fault, startFaultyProxy } from '../sources/faulty-proxy.ts';
import type { Driver } from '../support/driver.ts';
import type { Managed } from '../support/processes.ts';
import { bigFile } from '../support/rows.ts';
import { servers } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';
import { setUpFaults } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('storage');
const ROWS = 60_000;

const proxy = await startFaultyProxy(servers().s3.endpoint);
const faults = setUpFaults(random, {
  apis: 0,
  lanes: 0,
  more: {
    HEADRACE_TEST_S3_IDLE_MS: '1000',
    HEADRACE_STORAGE_DEADLINE_MS: '3600000',
    HEADRACE_TEST_BATCH_BYTES: '200000',
  },
  processesOnly: { HEADRACE_S3_ENDPOINT: proxy.endpoint },
});

let driver: Driver;
let pipeline: Managed;
let partner: PartnerDocument;
let attribute: number;
beforeAll(() => {
  ({ driver } = faults.service);
  ({ pipeline } = faults);
});
beforeEach(async () => {
  proxy.faults.length = 0;
  proxy.rules.clear();
  proxy.seen.length = 0;
  partner = await driver.partner();
  attribute = await driver.attribute(partner);
});
afterAll(() => proxy.close());

async function expectLoaded(job: number, rows: number): Promise<void> {
  expect(await driver.ended(job)).toMatchObject({
    status: 2,
    rows,
    uniqueDevices: rows,
    errors: null,
  });
  expect(await driver.sets.count(setNames.attribute(attribute))).toBe(rows);
}

it('503, slow down, resets, silence, stalls and cuts in any order: every row is loaded once', async () => {
  await driver.upload(partner, 'a/1.csv', bigFile(ROWS, attribute));
  await driver.upload(partner, 'a/2.csv', bigFile(ROWS, attribute));
  const kinds: (() => Fault)[] = [
    () => ({ kind: 'status', status: 503, code: 'ServiceUnavailable' }),
    () => ({ kind: 'status', status: 503, code: 'SlowDown' }),
    () => ({ kind: 'status', status: 500, code: 'InternalError' }),
    () => ({ kind: 'reset' }),
    // Fourteen cuts do not reach the end of both files, so every queued fault meets a request.
    () => ({ kind: random.pick(['cut', 'stall', 'cut']), after: random.below(300_000) }),
  ];
  proxy.faults.push(...Array.from({ length: 14 }, () => random.pick(kinds)()), { kind: 'silence' });
  await expectLoaded(await driver.import(partner, 'a/', { compressed: false }), 2 * ROWS);
  expect(proxy.faults).toEqual([]);
});

it('a connection that ends at every megabyte: plain and gzip files are loaded exactly', async () => {
  const plain = bigFile(2 * ROWS, attribute);
  const packed = gzipSync(bigFile(ROWS, attribute), { level: 1 });
  await driver.upload(partner, 'plain.csv', plain);
  await driver.upload(partner, 'packed.csv.gz', packed);
  const cut = () =>
    proxy.faults.push(...Array.from({ length: 12 }, () => ({ kind: 'cut', after: 1_000_000 }) as const));
  cut();
  const first = await driver.import(partner, 'plain.csv');
  await driver.ended(first);
  expect(proxy.seen.filter(({ range }) => range).length).toBeGreaterThanOrEqual(plain.length / 1_000_000 - 1);
  cut();
  const second = await driver.ended(await driver.import(partner, 'packed.csv.gz'));
  expect(second).toMatchObject({ status: 2, rows: ROWS, uniqueDevices: ROWS });
  expect(await driver.sets.count(setNames.attribute(attribute))).toBe(3 * ROWS);
});

it('an object replaced while it is read fails with `changed`, leaves nothing, and its neighbour is loaded', async () => {
  await driver.upload(partner, 'c/1.csv', bigFile(ROWS, attribute));
  await driver.upload(partner, 'c/2.csv', bigFile(1_000, attribute));
  const stalled = proxy.stall(`${partner.prefix}c/1.csv`, 20_000);
  const job = await driver.import(partner, 'c/', { compressed: false });
  await waitFor(stalled.isRead, { what: 'the file being read' });
  await driver.upload(partner, 'c/1.csv', bigFile(ROWS, attribute));
  stalled.letGo();
  const ended = await driver.ended(job);
  expect(ended).toMatchObject({ status: 3, uniqueDevices: 1_000 });
  expect(ended.errors).toEqual([
    expect.objectContaining({ code: 'changed', file: `${partner.prefix}c/1.csv` }),
  ]);
  expect(await driver.sets.count(setNames.attribute(attribute))).toBe(1_000);
});

it('a gzip file replaced while the pipeline is down fails with `changed`, behind what was validated of it', async () => {
  await driver.upload(partner, 'e.csv.gz', gzipSync(bigFile(ROWS, attribute), { level: 1 }));
  const stalled = proxy.stall(`${partner.prefix}e.csv.gz`, 600_000);
  const job = await driver.import(partner, 'e.csv.gz');
  const validated = () => driver.db.collection('ledger').countDocuments({ job, batch: 0 });
  await waitFor(async () => (await validated()) === 1, { what: 'a validated batch' });
  await pipeline.kill();
  stalled.letGo();
  await driver.upload(partner, 'e.csv.gz', gzipSync(bigFile(1_000, attribute)));
  pipeline.start();
  await pipeline.ready();
  const ended = await driver.ended(job);
  expect(ended).toMatchObject({ status: 3, uniqueDevices: 0, errors: [{ code: 'changed' }] });
  expect(await driver.sets.count(setNames.attribute(attribute))).toBe(0);
});

it('storage away for longer than any retry: the job waits, and ends as if nothing had been', async () => {
  await driver.upload(partner, 'd.csv', bigFile(ROWS, attribute));
  proxy.faults.push(
    ...Array.from({ length: 60 }, () => ({ kind: 'status', status: 503, code: 'SlowDown' }) as const),
  );
  const job = await driver.import(partner, 'd.csv');
  await waitFor(() => proxy.faults.length < 40, { what: 'twenty refusals' });
  expect((await driver.jobs.findOne({ _id: job }))!.phase).not.toBe('ended');
  proxy.faults.length = 0;
  await expectLoaded(job, ROWS);
});
