/** A job that a sink cannot vote on or commit is reported, and other jobs go on: only the jobs that depend on it wait. */
import { expect, it } from 'vitest';
import { unpackCounts } from '../../pipeline/formats/number-table.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createEventValueStore } from '../../pipeline/stores/event-values.ts';
import { spaces } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { keyed, numberedDevices, onePart } from '../sets/devices.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { aJob } from '../support/recording-environment.ts';
import { slotTarget } from '../support/slot-target.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';
import { openSinkScene, PARTITION, PARTNER } from './sink-scene.ts';

const { database, createSink } = openSinkScene();
/** Without pauses between attempts. */
const step = Object.assign(recordedStep('sink'), { pause: async () => {} });
const audience = { kind: 'audience', audience: 3, generation: 1 } as const;
/** A load in another lane. */
const other = { ...audience, partner: 'p2' };
const behind1 = { after: [1] };
const behind2 = { after: [2] };
const ANOTHER = setNames.audience(3, 1);

const decided = (_id: number, job: Partial<JobDocument> = {}) =>
  aJob({ _id, kind: 'import', audience: null, generation: null, phase: 'decided', ...job });

/** Job 2 fails until it is repaired. */
async function createScene() {
  let isBad = true;
  let tries = 0;
  const scene = await createSink({
    assignment: step,
    async mergesMay(jobs) {
      if (isBad && jobs.includes(2)) throw new RangeError(`try ${++tries}: offset is out of bounds`);
    },
  });
  // As dispatch does before it sends the load's commit marker.
  await createEventValueStore(database.db).assign(3, 1, ['1']);
  const untilGivenUp = () =>
    waitFor(async () => (await scene.votes.votesOn([], [2])).length > 0, {
      what: 'the report of a failure',
    });
  const handle = (...deliveries: Parameters<typeof scene.sink.handleAll & object>[1]) =>
    scene.sink.handleAll!(PARTITION, deliveries, step);
  return {
    ...scene,
    handle,
    untilGivenUp,
    tries: () => tries,
    repair() {
      isBad = false;
    },
  };
}

it('fails three times, whatever the messages say, and is reported; its lane waits, and another goes on', async () => {
  const { handle, devices, marker, untilGivenUp, untilMerged, votes, acks, sets, tries } =
    await createScene();
  await handle(devices(1), devices(2), devices(3), devices(4));
  await handle(marker(1), marker(2, behind1), marker(3, other));
  await untilGivenUp();
  expect(tries()).toBe(3);
  expect(await votes.votesOn([], [2])).toMatchObject([
    {
      job: 2,
      attempt: 0,
      partition: PARTITION,
      missing: [],
      failure: expect.stringContaining('sink: RangeError'),
    },
  ]);
  await untilMerged(3);
  // The next job in its lane.
  await handle(marker(4, behind2));
  expect([(await acks.ofJob(2)).length, (await acks.ofJob(4)).length]).toEqual([0, 0]);
  expect([await sets.count(setNames.attribute(1)), await sets.count(ANOTHER)]).toEqual([10, 30]);
  // A repeated marker gets the vote again, without another attempt.
  await handle(marker(2, behind1));
  expect(tries()).toBe(3);
});

it('a new owner knows that jobs of other lanes have overtaken it, and merges it when it is retried; then those behind it', async () => {
  const { sink, handle, devices, marker, untilGivenUp, untilMerged, untilAcked, acks, sets, jobs, repair } =
    await createScene();
  await jobs.insertMany([1, 2, 3, 4].map((_id) => decided(_id, _id === 3 ? other : {})));
  await handle(devices(1), devices(2), devices(3), marker(1), marker(2, behind1), marker(3, other));
  await untilGivenUp();
  await untilMerged(3);
  repair();
  await jobs.updateOne({ _id: 2 }, { $set: { stoppedAt: new Date() } });
  sink.assigned!([PARTITION], step);
  // A new owner of the partition does not merge a stopped job, even if it reads the old marker.
  await handle(devices(2), marker(2, behind1));
  // Redelivered, together with an old marker of a job that must not overtake.
  await handle(devices(3), marker(3, other), devices(4), marker(4, behind2));
  expect(await acks.ofJob(2)).toEqual([]);
  await handle(marker(2, { attempt: 1 }));
  await untilAcked(2);
  expect(await sets.count(setNames.attribute(1))).toBe(20);
  await handle(marker(4, behind2));
  await untilMerged(4);
  for (const job of [2, 4]) expect(await acks.ofJob(job)).toMatchObject([{ uniqueDevices: 10 * job }]);
  expect(await sets.count(setNames.attribute(1))).toBe(40);
});

it('dropped: the slot never merges it, not even through an owner that was replaced, alone or with others', async () => {
  const { handle, devices, marker, untilGivenUp, untilMerged, untilAcked, acks, sets, repair } =
    await createScene();
  await handle(devices(1), devices(2), marker(1), marker(2, behind1));
  await untilGivenUp();
  repair();
  await handle(marker(2, { attempt: 1, request: 'drop' }));
  await untilAcked(2);
  expect(await acks.ofJob(2)).toMatchObject([{ slot: PARTITION, dropped: true, uniqueDevices: 0, pairs: 0 }]);

  const zombie = createDeviceSets(database.db);
  const own = onePart(keyed({ key: 1, devices: numberedDevices(0, 20) }));
  const target = slotTarget({ space: spaces.marketplace, slot: PARTITION, job: 2, partner: PARTNER });
  expect((await zombie.merge(target, own)).changes).toMatchObject([{ job: 2, dropped: true }]);
  await handle(devices(4), marker(4, behind2));
  await untilMerged(4);
  // Also after the next job has changed the slot.
  await expect(
    zombie.merge({ ...target, jobs: [...target.jobs, { job: 5, partner: PARTNER }] }, own),
  ).rejects.toThrow('dropped');
  expect(await sets.count(setNames.attribute(1))).toBe(40);
});

it.each([
  ['an import', {}, spaces.marketplace, { devices: 10, added: new Map([[1, 10]]) }],
  ['a load', audience, spaces.audience(3, 1), { devices: 20, added: undefined }],
])(
  '%s, dropped when it was merged already, and only not acknowledged: that stands',
  async (_, fields, space, expected) => {
    const { handle, devices, marker, untilGivenUp, untilAcked, acks, sets } = await createScene();
    await handle(devices(1), devices(2), marker(1), marker(2, { ...fields, ...behind1 }));
    await untilGivenUp();
    const own = onePart(keyed({ key: 1, devices: numberedDevices(0, 20) }));
    await createDeviceSets(database.db).merge(
      slotTarget({ space, slot: PARTITION, job: 2, partner: PARTNER }),
      own,
    );
    await handle(marker(2, { ...fields, attempt: 1, request: 'drop' }));
    await untilAcked(2);
    const [ack] = await acks.ofJob(2);
    expect(ack).toMatchObject({ onlyNew: true, uniqueDevices: expected.devices });
    expect(ack!.dropped).toBeUndefined();
    expect(ack!.attributePairs && unpackCounts(ack!.attributePairs.buffer)).toEqual(expected.added);
    const name = fields === audience ? ANOTHER : setNames.attribute(1);
    expect(await sets.count(name)).toBe(20);
  },
);

it('processes that die of a merge count as its failures; one that is merged beside it is none', async () => {
  let isDeadly = true;
  let begun = 0;
  const start = async (isSuccessor: boolean) => {
    const scene = await createSink({
      isSuccessor,
      assignment: step,
      async mergesMay(jobs) {
        if (!jobs.includes(2)) return;
        begun++;
        // Like a process that crashed: nothing more happens.
        if (isDeadly) await new Promise(() => {});
      },
    });
    const { sink, jobs, devices, marker } = scene;
    if (!isSuccessor) await jobs.insertMany([decided(1), decided(2)]);
    const deliveries = [devices(1), devices(2), marker(1), marker(2, behind1)];
    await sink.handleAll!(PARTITION, deliveries, step);
    return scene;
  };
  for (let deaths = 0; deaths < 4; deaths++) {
    await start(deaths > 0);
    await waitFor(() => begun === deaths + 1, { what: 'the merge' });
  }
  const { sink, votes, acks, marker, untilAcked } = await start(true);
  await waitFor(async () => (await votes.votesOn([], [2])).length > 0, { what: 'the report' });
  expect(await votes.votesOn([], [2])).toMatchObject([
    { job: 2, failure: 'sink: Error: 3 processes died while merging it' },
  ]);
  expect(begun).toBe(4);
  isDeadly = false;
  await sink.handleAll!(PARTITION, [marker(2, { attempt: 1 })], step);
  await untilAcked(2);
  expect(await acks.ofJob(2)).toMatchObject([{ uniqueDevices: 20 }]);
});

it('a job that cannot be voted on is reported before it is decided, and the next one gets its vote', async () => {
  const { sink, votes, devices, marker } = await createSink({
    assignment: step,
    async votesMay(job) {
      if (job === 1) throw new RangeError('Set maximum size exceeded');
    },
  });
  const ask = { request: 'prepare' as const };
  await sink.handleAll!(PARTITION, [devices(1), devices(2), marker(1, ask), marker(2, ask)], step);
  const cast = await votes.votesOn([1, 2], []);
  expect(cast.toSorted((a, b) => a.job - b.job)).toMatchObject([
    { job: 1, missing: [], failure: expect.stringContaining('Set maximum size exceeded') },
    { job: 2, missing: [] },
  ]);
  expect(cast.find(({ job }) => job === 2)!.failure).toBeUndefined();
});
