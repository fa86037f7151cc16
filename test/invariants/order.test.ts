/** Jobs complete in the order in which they were accepted. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { collections } from '../../schemas/documents.ts';
import { type FaultyProxy, startFaultyProxy } from '../sources/faulty-proxy.ts';
import { createDriver, type Driver } from '../support/driver.ts';
import { asMembers, bigFile, file, ids } from '../support/rows.ts';
import { type OwnService, servers, startService } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';

let service: OwnService;
let driver: Driver;
let proxy: FaultyProxy;
beforeAll(async () => {
  proxy = await startFaultyProxy(servers().s3.endpoint);
  service = await startService({
    parts: ['pipeline'],
    env: { HEADRACE_S3_ENDPOINT: proxy.endpoint, HEADRACE_TEST_S3_IDLE_MS: '3000' },
  });
  driver = await createDriver(service.config);
});
afterAll(async () => {
  await driver?.close();
  await service?.stop();
  await proxy?.close();
});

it('300 jobs of mixed size: no earlier job is unfinished when a later one is done', async () => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const sizes = [10, 1_000, 20_000, 1];
  for (const size of sizes) await driver.upload(partner, `${size}.csv`, bigFile(size, attribute));
  const queued = await Promise.all(
    Array.from({ length: 300 }, (_, i) =>
      i % 50 === 49 ? driver.import(partner, 'missing.csv') : driver.import(partner, `${sizes[i % 4]}.csv`),
    ),
  );
  expect(queued).toEqual([...queued].sort((a, b) => a - b));
  for (;;) {
    // Newest first: a cursor reads in batches, and what was done when a later job was done is done when it is read after it.
    const states = await driver.jobs
      .find({ _id: { $in: queued } })
      .sort({ _id: -1 })
      .project({ phase: 1 })
      .toArray();
    const lastDone = states.findIndex(({ phase }) => phase === 'ended');
    const unfinished = lastDone < 0 ? [] : states.slice(lastDone).filter(({ phase }) => phase !== 'ended');
    expect(unfinished, `before job ${states[lastDone]?._id}, which is done`).toEqual([]);
    if (lastDone === 0) break;
    await sleep(20);
  }
  const jobs = await driver.jobs
    .find({ _id: { $in: queued } })
    .sort({ _id: 1 })
    .toArray();
  jobs.forEach((job, i) => {
    const size = sizes[i % 4]!;
    if (i % 50 === 49) expect(job).toMatchObject({ status: 3, errors: [{ code: 'no_files' }] });
    else expect(job).toMatchObject({ status: 2, rows: size, uniqueDevices: size });
  });
});

it('a deletion between two imports of one attribute leaves exactly the second', async () => {
  const partner = await driver.partner();
  const [attribute, other] = [await driver.attribute(partner), await driver.attribute(partner)];
  const [first, second] = [ids(5_000), ids(3_000)];
  await driver.upload(partner, 'first.csv', file(first, `${attribute},${other}`));
  await driver.upload(partner, 'second.csv', file(second, attribute));
  await driver.import(partner, 'first.csv');
  const deletion = await driver.delete(partner, [attribute]);
  const last = await driver.import(partner, 'second.csv');
  expect(await driver.ended(last)).toMatchObject({ status: 2, uniqueDevices: 3_000 });
  expect(await driver.ended(deletion)).toMatchObject({ status: 2, uniqueDevices: 5_000, rows: 5_000 });
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers(second));
  expect(await driver.members(setNames.attribute(other))).toEqual(asMembers(first));
});

it('a clear in the middle of a load leaves nothing, and an append right after it loads fully', async () => {
  const partner = await driver.partner();
  await driver.upload(partner, 'big.csv', bigFile(200_000, 'seen'));
  const stalled = proxy.stall(`${partner.prefix}big.csv`, 4_000_000);
  const small = ids(700);
  await driver.upload(partner, 'small.csv', file(small, 'seen'));
  const audience = await driver.createAudience(partner, 'big.csv');
  await waitFor(() => driver.db.collection(collections.ledger).findOne({ job: audience }), {
    what: 'the first batch',
  });
  await driver.clear(partner, audience);
  stalled.letGo();
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({
    uniqueDevices: 0,
    generation: 2,
  });
  const appended = await driver.append(partner, audience, 'small.csv');
  expect(await driver.ended(appended)).toMatchObject({ status: 2, uniqueDevices: 700 });
  expect(await driver.ended(audience)).toMatchObject({ status: 3, errors: [{ code: 'cancelled' }] });
  expect(await driver.members(setNames.audience(audience, 1))).toEqual(new Set());
  expect(await driver.members(setNames.audience(audience, 2))).toEqual(asMembers(small));
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({
    uniqueDevices: 700,
    uploadedDevices: 700,
    outcome: 2,
  });
});
