/**
 * A partner's storage that gives no usable answer for one key, or while listing, fails that partner's job within its deadline and
 * no one else's. An outage of the shared storage fails no job: jobs wait, even for longer than the deadline.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJobInspection } from '../../deploy/cli/admin/inspect-jobs.ts';
import { sealCredentials } from '../../pipeline/sources/credentials.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { type Fault, type SeenRequest, startFaultyProxy } from '../sources/faulty-proxy.ts';
import type { Driver } from '../support/driver.ts';
import { eventually } from '../support/eventually.ts';
import type { Managed } from '../support/processes.ts';
import { bigFile, file, ids } from '../support/rows.ts';
import { servers } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';
import { setUpFaults } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const DEADLINE_MS = 25_000;
const ROWS = 500;

type Storage = 'own' | 'shared';
const notImplemented = { kind: 'status', status: 501, code: 'NotImplemented' } as const;
const kinds: Record<string, Record<Storage, Fault>> = {
  '501': { own: notImplemented, shared: notImplemented },
  reset: { own: { kind: 'reset' }, shared: { kind: 'reset' } },
  stall: { own: { kind: 'silence' }, shared: { kind: 'stall', after: 0 } },
  trickle: {
    own: { kind: 'trickle', bytes: 10, everyMs: 200 },
    shared: { kind: 'trickle', bytes: 10, everyMs: 200 },
  },
  garbage: { own: { kind: 'garbage', as: 'bytes' }, shared: { kind: 'garbage', as: 'page' } },
};

const proxy = await startFaultyProxy(servers().s3.endpoint);
// So few partitions that poisoned and good files share them.
const faults = setUpFaults(roundSeed('storage-poisoned'), {
  apis: 0,
  lanes: 0,
  more: { HEADRACE_PARTITIONS: '2', HEADRACE_TEST_FILE_WINDOW: '8' },
  processesOnly: {
    HEADRACE_S3_ENDPOINT: proxy.endpoint,
    HEADRACE_PARTNER_S3_ENDPOINT: proxy.endpoint,
    HEADRACE_TEST_S3_IDLE_MS: '3000',
    HEADRACE_STORAGE_DEADLINE_MS: String(DEADLINE_MS),
  },
});

let driver: Driver;
let pipeline: Managed;
const bucket = `own-${randomBytes(6).toString('hex')}`;
let neighbour: PartnerDocument;
let neighboursAttribute: number;

/** Matches requests for the object, or listings of the prefix, of one partner. */
const isGet = (partner: PartnerDocument) => (request: SeenRequest) =>
  request.method === 'GET' && request.path.includes(`/${partner.prefix}poisoned.csv`);
const isListing = (partner: PartnerDocument) => (request: SeenRequest) =>
  request.path.includes('list-type=2') && request.path.includes(encodeURIComponent(partner.prefix));

/** Uses the shared bucket as if it were the partner's own, with credentials; the partner's prefix is only a folder of it. */
function importOwn(partner: PartnerDocument, path: string): Promise<number> {
  const { accessKeyId, secretAccessKey, region } = servers().s3;
  const keys = { accessKeyId, secretAccessKey };
  const credentials = (_id: number) =>
    sealCredentials(driver.config.secret, { _id, partner: partner._id }, keys);
  const options = { pathType: 1 as const, credentials, region, compressed: false };
  return driver.import(partner, `s3://${bucket}/${partner.prefix}${path}`, options);
}

/** A job with poisoned storage, and a job of another partner behind it. Resolves once everything is uploaded. */
async function prepare(fault: Fault, where: 'file' | 'listing', storage: Storage) {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const isAudience = storage === 'shared';
  const body = file(ids(ROWS), isAudience ? 'seen' : attribute);
  const name = where === 'file' ? 'poisoned.csv' : 'folder/a.csv';
  if (storage === 'shared') await driver.upload(partner, name, body);
  else await driver.uploadTo(bucket, partner.prefix + name, body);
  const matches = (where === 'file' ? isGet : isListing)(partner);
  proxy.rules.add((request) => (matches(request) ? fault : undefined));
  const path = where === 'file' ? name : 'folder/';
  return async () => ({
    job: isAudience ? await driver.createAudience(partner, path) : await importOwn(partner, path),
    next: await driver.import(neighbour, 'good.csv'),
    attribute,
    isAudience,
  });
}

beforeAll(async () => {
  ({ driver } = faults.service);
  ({ pipeline } = faults);
  await driver.makeBucket(bucket);
  neighbour = await driver.partner();
  neighboursAttribute = await driver.attribute(neighbour);
  await driver.upload(neighbour, 'good.csv', file(ids(ROWS), neighboursAttribute));
});
afterAll(() => proxy.close());

describe('a poisoned storage', () => {
  const cases = Object.keys(kinds).flatMap((kind) =>
    (['file', 'listing'] as const).flatMap((where) =>
      (['own', 'shared'] as const).map((storage) => ({ kind, where, storage })),
    ),
  );
  type Submitted = Awaited<ReturnType<Awaited<ReturnType<typeof prepare>>>>;
  const submitted = new Map<string, Submitted>();
  const nameOf = (one: (typeof cases)[number]) => JSON.stringify(one);
  beforeAll(async () => {
    const prepared = await Promise.all(
      cases.map(({ kind, where, storage }) => prepare(kinds[kind]![storage], where, storage)),
    );
    for (const [i, one] of cases.entries()) submitted.set(nameOf(one), await prepared[i]!());
  });
  afterAll(() => proxy.rules.clear());

  it.each(cases)('$kind, $where, $storage bucket: it ends in 3, the next partner’s job in 2', async (one) => {
    const { job, next, attribute, isAudience } = submitted.get(nameOf(one))!;
    const ended = await driver.ended(job);
    expect(ended).toMatchObject({
      status: 3,
      uniqueDevices: 0,
      errors: [
        {
          code: one.kind === 'trickle' && one.where === 'file' ? 'storage_too_slow' : 'storage_unavailable',
          ...(one.where === 'file' ? { file: expect.any(String) } : {}),
        },
      ],
    });
    const good = await driver.ended(next);
    expect(good).toMatchObject({ status: 2, rows: ROWS, uniqueDevices: ROWS, errors: null });
    expect(await driver.sets.count(setNames.attribute(neighboursAttribute))).toBe(ROWS);
    const own = isAudience ? setNames.audience(job, 1) : setNames.attribute(attribute);
    expect(await driver.membersOf([own])).toEqual(new Map());
  });
});

/** The unit test of the clock covers that failing files share one deadline, after which each file gets a single try. */
it('a bucket whose every file is poisoned: every file fails, and the next partner’s job is done', async () => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const paths = Array.from({ length: 64 }, (_, i) => `many/${i}.csv`);
  const body = file(ids(10), attribute);
  await Promise.all(paths.map((path) => driver.uploadTo(bucket, partner.prefix + path, body)));
  const rule = (request: SeenRequest): Fault | undefined =>
    request.method === 'GET' && request.path.includes(`/${partner.prefix}many/`)
      ? { kind: 'reset' }
      : undefined;
  proxy.rules.add(rule);
  const [poisoned, next] = [await importOwn(partner, 'many/'), await driver.import(neighbour, 'good.csv')];
  const ended = await driver.ended(poisoned);
  expect(ended).toMatchObject({ status: 3, uniqueDevices: 0 });
  expect(ended.errors!.map(({ code }) => code)).toEqual(paths.map(() => 'storage_unavailable'));
  expect(await driver.ended(next)).toMatchObject({ status: 2, rows: ROWS, errors: null });
  proxy.rules.delete(rule);
});

/** Two jobs and a shared storage that goes down while it serves one file and before it lists the other. */
async function stopSharedStorage() {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  await driver.upload(partner, 'listed.csv', bigFile(5_000, attribute));
  await driver.upload(partner, 'read.csv', bigFile(5_000, attribute));
  let asked = 0;
  const rule = (request: SeenRequest): Fault | undefined => {
    const isRead = request.method === 'GET' && request.path.includes('/read.csv');
    if (asked === 0 && !isRead) return undefined;
    return asked++ % 2 === 0 ? { kind: 'status', status: 503, code: 'SlowDown' } : { kind: 'silence' };
  };
  proxy.rules.add(rule);
  const read = await driver.import(partner, 'read.csv');
  await waitFor(() => asked > 0, { what: 'a file being read' });
  const listed = await driver.import(partner, 'listed.csv');
  return {
    set: setNames.attribute(attribute),
    jobs: [read, listed],
    restore: () => proxy.rules.delete(rule),
  };
}

it('the shared storage is down for longer than the deadline: jobs wait, and end well', async () => {
  const { set, jobs, restore } = await stopSharedStorage();
  const from = performance.now();
  await waitFor(() => performance.now() - from > 1.3 * DEADLINE_MS, { what: 'more than the deadline' });
  const health = async () => {
    const answer = await fetch(`${pipeline.url}/health/ready`);
    return [answer.status, await answer.json()];
  };
  await eventually(health).toEqual([
    503,
    { ready: false, checks: { kafka: true, mongodb: true, stages: true, storage: false } },
  ]);
  const waiting = await driver.jobs.find({ _id: { $in: jobs } }, { sort: { _id: 1 } }).toArray();
  expect(waiting.map(({ phase }) => phase)).toEqual(['listed', 'accepted']);
  restore();
  for (const job of jobs)
    expect(await driver.ended(job)).toMatchObject({ status: 2, rows: 5_000, errors: null });
  expect(await driver.sets.count(set)).toBe(10_000);
});

it('jobs that wait for a storage that is down can be cancelled, and nothing of them is stored', async () => {
  const { set, jobs, restore } = await stopSharedStorage();
  const inspection = createJobInspection(driver.stores, driver.config);
  for (const job of jobs) await inspection.cancel(job);
  for (const job of jobs)
    expect(await driver.ended(job)).toMatchObject({ status: 3, errors: [{ code: 'cancelled' }] });
  restore();
  expect(await driver.membersOf([set])).toEqual(new Map());
  await expect(inspection.cancel(jobs[0]!)).rejects.toThrow('can no longer be cancelled');
});
