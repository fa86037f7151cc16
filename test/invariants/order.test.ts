/** A partner's jobs complete in the order in which they were accepted, and wait for no other partner's jobs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { collections } from '../../schemas/documents.ts';
import type { JobPhase } from '../../schemas/job-documents.ts';
import { useServiceBehindProxy } from '../support/fixture.ts';
import { asMembers, bigFile, file, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';

const { service, driver, proxy } = await useServiceBehindProxy({ parts: ['pipeline'] });

it('150 jobs of mixed size: no earlier job is unfinished when a later one is done', async () => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const sizes = [10, 1_000, 20_000, 1];
  for (const size of sizes) await driver.upload(partner, `${size}.csv`, bigFile(size, attribute));
  const queued = await Promise.all(
    Array.from({ length: 150 }, (_, i) =>
      i % 50 === 49 ? driver.import(partner, 'missing.csv') : driver.import(partner, `${sizes[i % 4]}.csv`),
    ),
  );
  expect(queued).toEqual([...queued].sort((a, b) => a - b));
  for (;;) {
    // Newest first: a cursor reads in batches, so an older job is read later and must have ended by then.
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

/** A partner with a job whose storage does not respond, and jobs behind it. */
async function blocked() {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const [big, small] = [ids(20_000), ids(500)];
  await driver.upload(partner, 'big.csv', file(big, attribute));
  await driver.upload(partner, 'small.csv', file(small, attribute));
  const stalled = proxy.stall(`${partner.prefix}big.csv`, 100_000);
  const first = await driver.import(partner, 'big.csv');
  const behind = [
    await driver.import(partner, 'small.csv'),
    await driver.createAudience(partner, 'small.csv'),
    await driver.delete(partner, [attribute]),
  ];
  return { partner, first, behind, stalled, size: { big: big.length, small: small.length } };
}

const phasesOf = async (jobs: number[]): Promise<JobPhase[]> => {
  const found = await driver.jobs.find({ _id: { $in: jobs } }).toArray();
  return found.map(({ phase }) => phase);
};

async function expectAll({ first, behind, size }: Awaited<ReturnType<typeof blocked>>): Promise<void> {
  const [imported, load, deletion] = behind as [number, number, number];
  expect(await driver.ended(deletion)).toMatchObject({ status: 2, uniqueDevices: size.big + size.small });
  expect(await driver.ended(load)).toMatchObject({ status: 2, uniqueDevices: size.small });
  expect(await driver.ended(imported)).toMatchObject({ status: 2, uniqueDevices: size.small });
  expect(await driver.ended(first)).toMatchObject({ status: 2, uniqueDevices: size.big });
  expect(await driver.audiences.findOne({ _id: load })).toMatchObject({ matchedDevices: size.small });
  const ends = await driver.jobs
    .find({ _id: { $in: [first, ...behind] } }, { sort: { endNumber: 1 } })
    .toArray();
  expect(ends.map(({ _id }) => _id)).toEqual([first, ...behind]);
}

it('jobs of one partner end while another waits for its storage, also after the dispatcher is killed', async () => {
  const waiting = await blocked();
  const other = await driver.partner();
  const attribute = await driver.attribute(other);
  const devices = ids(700);
  await driver.upload(other, 'a.csv', file(devices, attribute));
  async function importAndLoad(): Promise<void> {
    const [imported, load] = [
      await driver.import(other, 'a.csv'),
      await driver.createAudience(other, 'a.csv'),
    ];
    expect(await driver.ended(load)).toMatchObject({ status: 2, uniqueDevices: 700, newDevices: 700 });
    expect(await driver.audiences.findOne({ _id: load })).toMatchObject({ matchedDevices: 700 });
    expect(await driver.ended(imported)).toMatchObject({ status: 2, uniqueDevices: 700 });
  }
  await importAndLoad();
  await service.kill('pipeline');
  await service.restart('pipeline');
  await importAndLoad();
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers(devices));
  expect(await driver.ended(await driver.delete(other, [attribute]))).toMatchObject({ uniqueDevices: 700 });
  expect(await phasesOf([waiting.first, ...waiting.behind])).not.toContain('ended');
  waiting.stalled.letGo();
  await expectAll(waiting);
});

it('a job that is cancelled, cleared or fails holds up its own lane until then, and no other', async () => {
  async function stalledLoad() {
    const partner = await driver.partner();
    const big = file(ids(20_000), 'seen');
    await driver.upload(partner, 'big.csv', big);
    await driver.upload(partner, 'small.csv', file(ids(100), 'seen'));
    const stalled = proxy.stall(`${partner.prefix}big.csv`, 100_000);
    const first = await driver.createAudience(partner, 'big.csv');
    return { partner, stalled, first, behind: await driver.createAudience(partner, 'small.csv') };
  }
  const lanes = [await stalledLoad(), await stalledLoad(), await stalledLoad()] as const;
  const jobs = lanes.flatMap(({ first, behind }) => [first, behind]);
  const other = await driver.partner();
  await driver.upload(other, 'a.csv', file(ids(10), 'seen'));
  async function expectOthersToEnd(): Promise<void> {
    const load = await driver.createAudience(other, 'a.csv');
    expect(await driver.ended(load)).toMatchObject({ status: 2, uniqueDevices: 10 });
  }
  await waitFor(() => lanes.every(({ stalled }) => stalled.isRead()), { what: 'the files to be read' });
  await expectOthersToEnd();
  expect(await phasesOf(jobs)).not.toContain('ended');

  const [cancelled, cleared, failing] = lanes;
  await driver.stores.jobs.requestCancel(cancelled.first);
  await driver.clear(cleared.partner, cleared.first);
  await driver.upload(failing.partner, 'big.csv', file(ids(30), 'seen'));
  failing.stalled.letGo();
  const codes = ['cancelled', 'cancelled', 'changed'];
  for (const [i, { first, behind }] of lanes.entries()) {
    expect(await driver.ended(behind)).toMatchObject({ status: 2, uniqueDevices: 100 });
    expect(await driver.ended(first)).toMatchObject({ status: 3, errors: [{ code: codes[i] }] });
    const ends = await driver.jobs
      .find({ _id: { $in: [first, behind] } }, { sort: { endNumber: 1 } })
      .toArray();
    expect(ends.map(({ _id }) => _id)).toEqual([first, behind]);
  }
  await expectOthersToEnd();
  for (const { stalled } of [cancelled, cleared]) stalled.letGo();
});

it('HEADRACE_ORDER=service, from one start to the next: one order for all, and back', async () => {
  const [one, two] = [await blocked(), await blocked()];
  const other = await driver.partner();
  await driver.upload(other, 'a.csv', file(ids(10), 'seen'));
  const before = await driver.createAudience(other, 'a.csv');
  expect(await driver.ended(before)).toMatchObject({ status: 2 });
  await service.restart('pipeline', { HEADRACE_ORDER: 'service' });
  const after = await driver.createAudience(other, 'a.csv');
  two.stalled.letGo();
  const voted = () => driver.db.collection(collections.votes).findOne({ job: after });
  await waitFor(voted, { what: 'the last job to be loaded' });
  expect(await phasesOf([one.first, ...two.behind, two.first, after])).not.toContain('ended');
  one.stalled.letGo();
  await Promise.all([expectAll(one), expectAll(two)]);
  expect(await driver.ended(after)).toMatchObject({ status: 2, uniqueDevices: 10 });
  const jobs = [one.first, ...one.behind, two.first, ...two.behind, after];
  const ends = await driver.jobs.find({ _id: { $in: jobs } }, { sort: { endNumber: 1 } }).toArray();
  expect(ends.map(({ _id }) => _id)).toEqual(jobs);
  await service.restart('pipeline', { HEADRACE_ORDER: 'partner' });
  const last = await driver.createAudience(other, 'a.csv');
  expect(await driver.ended(last)).toMatchObject({ status: 2, uniqueDevices: 10 });
});
