/** A new dispatcher sends the markers of unfinished jobs again: wherever they are in a partition, each job counts once. */
import { expect, it } from 'vitest';
import { createRetry } from '../../pipeline/engine/retry.ts';
import { createStep } from '../../pipeline/engine/step.ts';
import { unpackCounts } from '../../pipeline/formats/number-table.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { decodeGroups } from '../../pipeline/wire/device-groups.ts';
import { spaces } from '../../schemas/documents.ts';
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { createGate } from '../sets/database.ts';
import { keyed, numberedDevices, onePart } from '../sets/devices.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { slotTarget } from '../support/slot-target.ts';
import { setNames } from '../support/stored-sets.ts';
import { openSinkScene, PARTITION, PARTNER } from './sink-scene.ts';

const { database, step, createSink } = openSinkScene();
/** Imports of one partner: each is merged after the previous one. */
const behind = (job: number) => ({ after: job > 1 ? [job - 1] : [] });

it.each([
  ['one after the other', [1, 1, 2, 2]],
  ['in a row again', [1, 2, 1, 2]],
  ['the last of them cut off', [1, 2, 1]],
  ['with a new one', [1, 2, 1, 2, 3]],
])('markers twice, %s', async (_, markers) => {
  const { sink, sets, acks, devices, marker, untilMerged } = await createSink();
  const jobs = [...new Set(markers)];
  const all = [...jobs.map((job) => devices(job)), ...markers.map((job) => marker(job, behind(job)))];
  await sink.handleAll!(PARTITION, all, step);
  await untilMerged(Math.max(...jobs));
  for (const job of jobs)
    expect(await acks.ofJob(job)).toMatchObject([
      { slot: PARTITION, pairs: 10 * job, uniqueDevices: 10 * job, filePairs: [0, 10 * job] },
    ]);
  const last = Math.max(...jobs);
  expect(await acks.committedJobs([PARTITION])).toEqual(new Map([[PARTITION, last]]));
  expect(await sets.count(setNames.attribute(1))).toBe(10 * last);
});

it('a marker is not passed by the offsets before its job is merged, though devices of later jobs wait behind it', async () => {
  const gate = createGate();
  const { sink, acks, devices, marker, untilCommittable } = await createSink({ mergesMay: gate.wait });
  await sink.handleAll!(PARTITION, [devices(9)], step);
  expect(sink.committable!(PARTITION, 1n)).toBe(0n);
  // A new owner that starts behind the first messages: nothing precedes the first marker.
  sink.assigned!([PARTITION], step);
  const empty = { passed: [] };
  await sink.handleAll!(
    PARTITION,
    [marker(1, empty), marker(2, { ...empty, ...behind(2) }), devices(3), devices(4)],
    step,
  );
  await gate.reached;
  expect(sink.committable!(PARTITION, 5n)).toBe(1n);
  gate.open();
  await untilCommittable(3n);
  expect(await acks.committedJobs([PARTITION])).toEqual(new Map([[PARTITION, 2]]));
});

it('a handler that waits for a spill settles when its delivery is aborted: its member must rejoin the group', async () => {
  const gate = createGate();
  const { sink, devices } = await createSink({ spillsMay: gate.wait });
  const delivery = new AbortController();
  const own = createStep('sink', createRetry(undefined), delivery.signal);
  // A megabyte each, as much as the sink may hold.
  const handled = sink.handleAll!(PARTITION, [devices(6_000), devices(6_000, 1), devices(6_000, 2)], own);
  await gate.reached;
  delivery.abort(new Error('rebalance'));
  await expect(handled).rejects.toThrow('rebalance');
  gate.open();
});

it('another owner has merged the first of two jobs meanwhile: the second is merged, and neither counts twice', async () => {
  const { sink, sets, acks, devices, marker, untilMerged } = await createSink({
    mergesMay: async () => {
      const { groups } = devices(1).message.value as ValidatedDevices;
      const own = keyed(
        ...decodeGroups(groups).map((group) => ({ key: Number(group.key), devices: group.devices })),
      );
      const target = slotTarget({ space: spaces.marketplace, slot: PARTITION, job: 1, partner: PARTNER });
      await createDeviceSets(database.db).merge(target, onePart(own));
      const counts = { pairs: 10, uniqueDevices: 10, filePairs: [0, 10] };
      const none = { audienceDevices: 0, newDevices: 0, matchedDevices: 0 };
      await acks.recordAndAdvance([{ job: 1, slot: PARTITION, ...counts, ...none }]);
    },
  });
  await sink.handleAll!(PARTITION, [devices(1), devices(2), marker(1), marker(2, behind(2))], step);
  await untilMerged(2);
  expect(await acks.ofJob(1)).toMatchObject([{ pairs: 10 }]);
  const [second] = await acks.ofJob(2);
  expect(second).toMatchObject({ pairs: 20, uniqueDevices: 20 });
  expect(unpackCounts(second!.attributePairs!.buffer)).toEqual(new Map([[1, 10]]));
  expect(await sets.count(setNames.attribute(1))).toBe(20);
});

it('the same if it is a later one of another lane: what the others added is counted as theirs', async () => {
  const gate = createGate();
  const { sink, sets, acks, devices, marker, untilAcked } = await createSink({
    async mergesMay(jobs) {
      if (jobs.includes(1)) await gate.wait();
      if (!jobs.includes(3) || jobs.length === 1) return;
      const target = slotTarget({ space: spaces.marketplace, slot: PARTITION, job: 3, partner: PARTNER });
      const own = keyed({ key: 1, devices: numberedDevices(0, 30) });
      await createDeviceSets(database.db).merge(target, onePart(own));
    },
  });
  const [BATCH, other] = [1, { partner: 'p2' }];
  const deliveries = [devices(1), devices(2, BATCH), devices(3), marker(1)];
  await sink.handleAll!(PARTITION, deliveries, step);
  await gate.reached;
  await sink.handleAll!(PARTITION, [marker(2, other, [BATCH]), marker(3, { after: [1] })], step);
  gate.open();
  const added = async (job: number) => {
    await untilAcked(job);
    const [ack] = await acks.ofJob(job);
    return unpackCounts(ack!.attributePairs!.buffer);
  };
  expect(await added(1)).toEqual(new Map([[1, 10]]));
  expect(await added(2)).toEqual(new Map([[1, 20]]));
  expect(await added(3)).toEqual(new Map([[1, 20]]));
  expect(await sets.count(setNames.attribute(1))).toBe(50);
});

it('says whether its slot holds all of a job, and merges nothing before it does', async () => {
  const { sink, sets, acks, votes, devices, marker, untilMerged } = await createSink();
  const both = [0, 1];
  const ask = { request: 'prepare' as const };
  await sink.handleAll!(PARTITION, [devices(1), marker(1, ask, both), marker(1, {}, both)], step);
  expect(await votes.votesOn([1], [])).toMatchObject([{ partition: PARTITION, missing: [PARTITION] }]);
  expect(await sets.count(setNames.attribute(1))).toBe(0);
  expect(sink.committable!(PARTITION, 3n)).toBe(0n);

  // The files were dispatched again: duplicates count once.
  const again = { attempt: 1 };
  const rest = [devices(1, 0), devices(1, 1), marker(1, { ...ask, ...again }, both)];
  await sink.handleAll!(PARTITION, rest, step);
  expect((await votes.votesOn([1], [])).find(({ attempt }) => attempt === 1)).toMatchObject({
    missing: [],
  });
  expect(await sets.count(setNames.attribute(1))).toBe(0);
  await sink.handleAll!(PARTITION, [marker(1, again, both)], step);
  await untilMerged(1);
  expect(await acks.ofJob(1)).toMatchObject([{ pairs: 20 }]);
  expect(await sets.count(setNames.attribute(1))).toBe(20);
});

it('as many devices as expected, but others: not merged', async () => {
  const { sink, sets, votes, devices, marker } = await createSink();
  await sink.handleAll!(PARTITION, [devices(1, 1), marker(1, {}, [0])], step);
  expect(await votes.votesOn([1], [])).toMatchObject([{ missing: [PARTITION] }]);
  expect(await sets.count(setNames.attribute(1))).toBe(0);
});

it('a merge waits for the one that must come before it, however the markers were lost', async () => {
  const { sink, acks, devices, marker, untilMerged } = await createSink();
  const second = () => marker(2, behind(2));
  await sink.handleAll!(PARTITION, [devices(1), devices(2), second()], step);
  expect(await acks.committedJobs([PARTITION])).toEqual(new Map([[PARTITION, 0]]));
  await sink.handleAll!(PARTITION, [marker(1), second()], step);
  await untilMerged(2);
});

it('step by step: a prepare marker gets a vote; a commit marker is merged and acknowledged before its offset may be committed', async () => {
  const actions: string[] = [];
  const recorded = recordedStep('sink', actions);
  const { sink, devices, marker, untilCommittable } = await createSink({ assignment: recorded });
  await sink.handleAll!(PARTITION, [devices(1), marker(1, { request: 'prepare' as const })], recorded);
  expect(actions).toEqual(['vote']);
  expect(sink.committable!(PARTITION, 2n)).toBe(0n);
  await sink.handleAll!(PARTITION, [marker(1)], recorded);
  await untilCommittable(3n);
  expect(actions).toEqual(['vote', 'merge', 'ack']);
});

it('what comes while a job is merged is collected, and merged behind it', async () => {
  const gate = createGate();
  const { sink, sets, acks, devices, marker, untilCommittable } = await createSink({ mergesMay: gate.wait });
  await sink.handleAll!(PARTITION, [devices(1), marker(1)], step);
  await gate.reached;
  await sink.handleAll!(
    PARTITION,
    [devices(2), devices(3), marker(2, behind(2)), marker(3, behind(3)), devices(3)],
    step,
  );
  expect(await acks.committedJobs([PARTITION])).toEqual(new Map([[PARTITION, 0]]));
  gate.open();
  await untilCommittable(7n);
  for (const job of [1, 2, 3]) expect(await acks.ofJob(job)).toMatchObject([{ pairs: 10 * job }]);
  expect(await sets.count(setNames.attribute(1))).toBe(30);
});
