/**
 * Limits on what a single file or storage may take from others. The stages run in separate processes: validate may be stopped
 * alone, and processes that run split come and go.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createLagReader } from '../../pipeline/kafka/read-lag.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { dayOf } from '../../pipeline/stores/usage.ts';
import { JobStatus } from '../../schemas/job-documents.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { newLogFolder } from '../faults/support/logs.ts';
import { type SeenRequest, startFaultyProxy } from '../sources/faulty-proxy.ts';
import { createDriver, type Driver } from '../support/driver.ts';
import { type Managed, manage } from '../support/processes.ts';
import { bigFile, file, ids } from '../support/rows.ts';
import { type OwnService, servers, startService, withoutPorts } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';

const BATCH = 100_000;
const WINDOW = 4;
/** Storage that is held back does not fail, however slow the host is. */
const LONG_MS = '3600000';
const silent = createLogger({ logLevel: 'silent' }, 'test');

const proxy = await startFaultyProxy(servers().s3.endpoint);
let service: OwnService;
let driver: Driver;
let validator: Managed;
const guest = (stages: string) =>
  manage('pipeline', withoutPorts(service.env), { logs: newLogFolder(), args: ['--stages', stages] });

beforeAll(async () => {
  service = await startService({
    parts: ['pipeline'],
    stages: ['dispatch', 'split', 'sink'],
    env: {
      HEADRACE_S3_ENDPOINT: proxy.endpoint,
      HEADRACE_TEST_S3_IDLE_MS: '1000',
      HEADRACE_STORAGE_DEADLINE_MS: LONG_MS,
      HEADRACE_TEST_BATCH_BYTES: String(BATCH),
      HEADRACE_TEST_FILE_WINDOW: String(WINDOW),
      HEADRACE_TEST_ROWS_AHEAD_MB: '1',
      HEADRACE_TEST_DEVICES_AHEAD_MB: '1',
      HEADRACE_READ_AHEAD_MB: '6',
      // Long, so that no process loses its partitions when the host stalls.
      HEADRACE_SESSION_TIMEOUT_MS: '120000',
    },
  });
  driver = await createDriver(service.config);
  validator = await guest('validate');
});
afterAll(async () => {
  await validator?.stop();
  await service?.stop();
  await driver?.close();
  await proxy.close();
});

async function newPartner() {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  return { partner, attribute, count: () => driver.sets.count(setNames.attribute(attribute)) };
}

/** Few enough that they recur within gzip's window of 32 KiB: the file expands about eighty times. */
const DEVICES = 500;
const expanding = (attribute: number, rows: number) =>
  Buffer.from(file(ids(DEVICES), attribute).repeat(rows / DEVICES));

/** Holds back objects under the path until `letGo`. */
function silence(partner: PartnerDocument, path: string) {
  const isAsked = ({ method, path: asked }: SeenRequest) =>
    method === 'GET' && asked.includes(`/${partner.prefix}${path}`);
  const rule = (request: SeenRequest) => (isAsked(request) ? ({ kind: 'silence' } as const) : undefined);
  proxy.rules.add(rule);
  const letGo = () => void proxy.rules.delete(rule);
  onTestFinished(letGo);
  return { letGo, isAsked: () => proxy.seen.some(isAsked) };
}

it('split runs no further ahead of validate than it may, however much a file expands', async () => {
  const { partner, attribute, count } = await newPartner();
  const rows = 200_000;
  const text = expanding(attribute, rows);
  await driver.upload(partner, 'a.csv.gz', gzipSync(text));
  const lags = createLagReader(service.config, silent);
  onTestFinished(() => lags.close());
  const ahead: bigint[] = [];
  const sample = async () => {
    // Earlier ends and later offsets: a pause between the two requests never adds to the lag.
    const before = await lags.positionsOf('validate');
    const after = await lags.positionsOf('validate');
    const aheadIn = (partition: number, end: bigint) => {
      const { next } = after.get(partition)!;
      return end > next ? end - next : 0n;
    };
    ahead.push([...before].reduce((sum, [partition, { end }]) => sum + aheadIn(partition, end), 0n));
    return ahead.at(-1)!;
  };
  const job = await driver.import(partner, 'a.csv.gz');
  await waitFor(async () => (await sample()) >= 6n, { what: 'split to reach its limit' });
  validator.start();
  const ended = await waitFor(
    async () => {
      await sample();
      return driver.jobs.findOne({ _id: job, phase: 'ended' });
    },
    { what: 'the end of the job', progress: driver.openJobs },
  );
  expect(ended).toMatchObject({ status: 2, rows, uniqueDevices: DEVICES });
  expect(await count()).toBe(DEVICES);
  expect(text.length / BATCH).toBeGreaterThan(60);
  // A megabyte (seven batches), plus what is in flight.
  expect(Math.max(...ahead.map(Number))).toBeLessThan(30);
});

it('a gzip file is read once, however often its partition goes to somebody else meanwhile', async () => {
  const { partner, attribute, count } = await newPartner();
  const rows = 60_000;
  await driver.upload(partner, 'b.csv.gz', gzipSync(bigFile(rows, attribute), { level: 1 }));
  const stalled = proxy.stall(`${partner.prefix}b.csv.gz`, 600_000);
  const job = await driver.import(partner, 'b.csv.gz');
  const validated = () => driver.db.collection('ledger').countDocuments({ job });
  await waitFor(async () => (await validated()) > 0, { what: 'a validated batch' });
  const asked = proxy.seen.length;
  for (let visit = 0; visit < 2; visit++) {
    const visitor = await guest('split');
    visitor.start();
    await visitor.ready();
    expect(await visitor.stop()).toBe(0);
  }
  stalled.letGo();
  expect(await driver.ended(job)).toMatchObject({ status: 2, rows, uniqueDevices: rows, errors: null });
  expect(await count()).toBe(rows);
  const isRead = ({ method, path }: SeenRequest) => method === 'GET' && path.includes('/b.csv.gz');
  const later = proxy.seen.slice(asked).filter(isRead);
  expect(later.length).toBeGreaterThan(0);
  expect(later.filter(({ range }) => range === undefined)).toEqual([]);
});

it('validate goes on when the sink has handled devices, though it holds them and commits no offset', async () => {
  const { partner, attribute, count } = await newPartner();
  // More than validate may be ahead of the sink. The job cannot end before its second file has.
  const rows = 100_000;
  await driver.upload(partner, 'f/1.csv', bigFile(rows, attribute));
  await driver.upload(partner, 'f/2.csv', bigFile(10, attribute));
  const { letGo } = silence(partner, 'f/2.csv');
  const lags = createLagReader(service.config, silent);
  onTestFinished(() => lags.close());
  const job = await driver.import(partner, 'f/', { compressed: false });
  const validated = async () =>
    (await driver.db.collection('ledger').find({ job }).toArray()).reduce((sum, one) => sum + one.rows, 0);
  await waitFor(async () => (await validated()) === rows, { what: 'all rows of the file that is delivered' });
  const ofSink = await waitFor(
    async () => {
      const positions = [...(await lags.positionsOf('sink')).values()];
      return positions.every(({ handled, end }) => handled === end) ? positions : undefined;
    },
    { what: 'the handled offsets of the sink' },
  );
  expect(ofSink.some(({ next, end }) => next < end)).toBe(true);
  letGo();
  expect(await driver.ended(job)).toMatchObject({ status: 2, rows: rows + 10 });
  expect(await count()).toBe(rows + 10);
});

it('a job that unpacks to more than may be read ahead waits for the oldest one of its partner', async () => {
  const later = await newPartner();
  const { partner } = later;
  await driver.upload(partner, 'first.csv', file(ids(10), await driver.attribute(partner)));
  const held = silence(partner, 'first.csv');
  const first = await driver.import(partner, 'first.csv');
  await waitFor(held.isAsked, { what: 'the oldest job to wait for its storage' });
  // Each file alone exceeds the limit.
  const rows = 160_000;
  for (let n = 0; n <= WINDOW; n++)
    await driver.upload(later.partner, `c/${n}.csv.gz`, gzipSync(expanding(later.attribute, rows)));
  const second = await driver.import(later.partner, 'c/', { compressed: true });
  await waitFor(() => driver.jobs.findOne({ _id: second, onHold: true }), { what: 'the later job on hold' });
  // The job stands still in the middle of its files.
  const validated = () => driver.db.collection('ledger').countDocuments({ job: second });
  let before = -1;
  const isStill = async () => {
    const now = await validated();
    const isSame = now === before;
    before = now;
    return isSame;
  };
  await waitFor(isStill, { what: 'nothing more of it to be read', everyMs: 3_000 });
  expect(before).toBeLessThan((rows * WINDOW * 39) / BATCH);
  held.letGo();
  expect(await driver.ended(first)).toMatchObject({ status: 2, rows: 10 });
  expect(await driver.ended(second)).toMatchObject({ status: 2, rows: (WINDOW + 1) * rows, errors: null });
  expect(await later.count()).toBe((WINDOW + 1) * DEVICES);
});

it('quotas count bytes as they are unpacked: a job that exceeds them is not loaded', async () => {
  const { partner, attribute, count } = await newPartner();
  const small = expanding(attribute, 2_000);
  await driver.stores.partners.setQuotas(partner._id, { bytesPerDay: 1_000_000 });
  await driver.upload(partner, 'small.csv.gz', gzipSync(small));
  await driver.upload(partner, 'large.csv.gz', gzipSync(expanding(attribute, 100_000)));
  const loaded = await driver.ended(await driver.import(partner, 'small.csv.gz'));
  expect(loaded).toMatchObject({ status: 2, rows: 2_000, unpackedBytes: small.length });
  const refused = await driver.ended(await driver.import(partner, 'large.csv.gz'));
  expect(refused).toMatchObject({
    status: 3,
    errors: [{ code: 'quota_exceeded' }],
    uniqueDevices: 0,
    rows: 0,
  });
  expect(refused.errors![0]!.message).toContain('unpacked');
  expect(await driver.filesOf(refused._id)).toMatchObject([
    { status: 3, failure: { code: 'quota_exceeded' } },
  ]);
  expect(await count()).toBe(DEVICES);
  // Bytes unpacked by a failed load count, too: the next job is refused when it is listed.
  if (dayOf(loaded.createdAt) !== dayOf(refused.createdAt)) return;
  const next = await driver.ended(await driver.import(partner, 'small.csv.gz'));
  if (dayOf(next.createdAt) === dayOf(refused.createdAt))
    expect(next).toMatchObject({ status: 3, errors: [{ code: 'quota_exceeded' }] });
});

it('storage of a later job that does not answer takes no place from the oldest job', async () => {
  const [oldest, later] = [await newPartner(), await newPartner()];
  const upload = (to: PartnerDocument, path: string, body: Buffer) => driver.upload(to, path, body);
  for (let n = 0; n < 2 * WINDOW; n++)
    await upload(oldest.partner, `d/${n}.csv`, bigFile(3_000, oldest.attribute));
  for (let n = 0; n < WINDOW; n++)
    await upload(later.partner, `e/${n}.csv`, bigFile(25_000, later.attribute));
  const published = (job: number) => async () =>
    (await driver.filesOf(job)).filter(({ status }) => status === JobStatus.running).length === WINDOW;

  const held = silence(oldest.partner, 'd/');
  const first = await driver.import(oldest.partner, 'd/', { compressed: false });
  await waitFor(published(first), { what: 'the first files of the oldest job' });
  const dead = silence(later.partner, 'e/');
  const second = await driver.import(later.partner, 'e/', { compressed: false });
  await waitFor(published(second), { what: 'all files of the later job, in front of the others' });
  held.letGo();
  expect(await driver.ended(first)).toMatchObject({ status: 2, rows: 2 * WINDOW * 3_000, errors: null });
  // Its storage has not failed yet: no file of the later job is decided.
  expect(await published(second)()).toBe(true);
  dead.letGo();
  expect(await driver.ended(second)).toMatchObject({ status: 2, rows: WINDOW * 25_000, errors: null });
  expect([await oldest.count(), await later.count()]).toEqual([2 * WINDOW * 3_000, WINDOW * 25_000]);
});
