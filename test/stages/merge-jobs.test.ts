/** Merges are exact: in one go or in many ranges, from memory or from spills, once or repeated. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createDeviceSets, type DeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createCommittedJobs } from '../../pipeline/stages/sink/committed-jobs.ts';
import { createMergeJobs } from '../../pipeline/stages/sink/merge-jobs.ts';
import { createUncommitted } from '../../pipeline/stages/sink/uncommitted.ts';
import { createAckStore } from '../../pipeline/stores/acks.ts';
import { createEventValueStore } from '../../pipeline/stores/event-values.ts';
import { createSpillStore } from '../../pipeline/stores/spills.ts';
import { createVerdictStore } from '../../pipeline/stores/verdicts.ts';
import { decodeGroups, encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { spaces } from '../../schemas/documents.ts';
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { emptyDatabase, openDatabase } from '../sets/database.ts';
import { testPlacement, toPlain } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';

const database = openDatabase();
const SLOTS = [2, 6];
const passed = [0, 1, 3, 3];

/** Files 0 to 3, of which 2 failed. Each file repeats some of the earlier devices, and some batches are duplicates. */
function messagesOf(job: number): ValidatedDevices[] {
  const pool = randomBytes(16 * 3_000);
  const some = (from: number, count: number) => pool.subarray(16 * from, 16 * (from + count));
  const messages = SLOTS.flatMap((slot, s) =>
    [0, 1, 2, 3].flatMap((file) =>
      [0, 1].map((batch) => ({
        job,
        file,
        batch,
        slot,
        part: 0,
        groups: encodeGroups([
          { key: '1', devices: some(1_500 * s + 200 * file + 300 * batch, 400) },
          { key: '2', devices: some(1_500 * s + 100 * file, 150) },
        ]),
      })),
    ),
  );
  return [...messages, ...messages.slice(3, 6)];
}

const hexOf = (devices: Uint8Array) => {
  const bytes = Buffer.from(devices);
  return Array.from({ length: bytes.length / 16 }, (_, i) => bytes.toString('hex', 16 * i, 16 * i + 16));
};

async function heldIn(sets: DeviceSets, slot: number, attribute: number): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const devices of sets.read(spaces.marketplace, slot))
    for (const [device, keys] of toPlain(devices)) if (keys.includes(attribute)) found.add(device);
  return found;
}

function expected(messages: ValidatedDevices[], slot: number) {
  const sets = new Map<string, Set<string>>();
  const pairs = new Map<number, Set<string>>();
  const seen = new Set<string>();
  let received = 0;
  for (const { file, batch, slot: of, groups } of messages) {
    if (of !== slot || file === 2 || seen.has(`${file}.${batch}`)) continue;
    seen.add(`${file}.${batch}`);
    for (const { key, devices } of decodeGroups(groups)) {
      for (const device of hexOf(devices)) {
        received++;
        sets.set(key, (sets.get(key) ?? new Set()).add(device));
        pairs.set(file, (pairs.get(file) ?? new Set()).add(`${key} ${device}`));
      }
    }
  }
  const all = new Set([...sets.values()].flatMap((set) => [...set]));
  return { sets, received, unique: all.size, filePairs: [...pairs].map(([file, set]) => [file, set.size]) };
}

describe.each([
  ['in one go', { groupBytes: 8_000_000, isSpilled: false }],
  ['by ranges', { groupBytes: 3_000, isSpilled: false }],
  ['by ranges, half of it spilled', { groupBytes: 3_000, isSpilled: true }],
])('%s', (_, { groupBytes, isSpilled }) => {
  it('two imports of the same attributes: sets, counts by job and by file; merged again, nothing changes', async () => {
    const { db } = database;
    await emptyDatabase(db);
    const sets = createDeviceSets(db);
    const acks = createAckStore(db);
    const spills = createSpillStore(db);
    const eventValues = createEventValueStore(db);
    const mergeJobs = createMergeJobs({
      sets,
      acks,
      spills,
      eventValues,
      verdicts: createVerdictStore(db),
      hashDevice: testPlacement.hash,
      groupBytes,
    });
    const jobs = [4, 5].map((job) => ({ marker: markerOf({ job, passed }), messages: messagesOf(job) }));

    for (let again = 0; again < 2; again++) {
      const uncommitted = createUncommitted();
      for (const { messages } of jobs) {
        messages.forEach((message, i) => {
          uncommitted.add(message, BigInt(i));
        });
        if (isSpilled)
          await uncommitted.spill(
            () => true,
            (batch) => spills.save(batch, testPlacement.hash),
          );
      }
      const committed = createCommittedJobs(
        new Map(SLOTS.map((slot) => [slot, { last: 0, open: new Set<number>() }])),
      );
      const markers = jobs.map(({ marker }) => marker);
      await mergeJobs({ markers, slots: SLOTS, committed, uncommitted }, recordedStep('sink'));
      for (const { marker, messages } of jobs) {
        const words = await acks.ofJob(marker.job);
        expect(words).toHaveLength(SLOTS.length);
        for (const word of words) {
          const { received, unique, filePairs } = expected(messages, word.slot);
          expect([word.pairs, word.uniqueDevices]).toEqual([received, unique]);
          const byFile = Array.from({ length: word.filePairs.length / 2 }, (_, i) =>
            word.filePairs.slice(2 * i, 2 * i + 2),
          );
          expect(byFile.sort()).toEqual(filePairs.sort());
        }
      }
      for (const slot of SLOTS) {
        for (const key of ['1', '2']) {
          const want = new Set(jobs.flatMap(({ messages }) => [...expected(messages, slot).sets.get(key)!]));
          expect(await heldIn(sets, slot, Number(key))).toEqual(want);
        }
      }
      expect(await acks.committedJobs(SLOTS)).toEqual(new Map(SLOTS.map((slot) => [slot, 5])));
      expect(await spills.jobsIn(SLOTS)).toEqual([]);
      expect(uncommitted.bytes).toBe(0);
      // As after a crash just before the slots advanced.
      await db
        .collection<{ _id: string }>('acks')
        .deleteMany({ _id: { $in: SLOTS.map((slot) => `slot ${slot}`) } });
    }
  });
});

it('each attempt at a merge reads once which suppression lists are in use, for all of its jobs', async () => {
  const { db } = database;
  await emptyDatabase(db);
  const sets = createDeviceSets(db);
  let reads = 0;
  const mergeJobs = createMergeJobs({
    sets: {
      ...sets,
      // The first attempt is lost.
      async merge(target, parts) {
        for await (const _ of parts());
        return sets.merge(target, parts);
      },
      async suppressionLists(partner) {
        reads++;
        return sets.suppressionLists(partner);
      },
    },
    acks: createAckStore(db),
    spills: createSpillStore(db),
    eventValues: createEventValueStore(db),
    verdicts: createVerdictStore(db),
    hashDevice: testPlacement.hash,
  });
  const uncommitted = createUncommitted();
  const jobs = [4, 5, 6];
  for (const message of jobs.flatMap(messagesOf)) uncommitted.add(message, 0n);
  const committed = createCommittedJobs(
    new Map(SLOTS.map((slot) => [slot, { last: 0, open: new Set<number>() }])),
  );
  const markers = jobs.map((job) => markerOf({ job, passed }));
  await mergeJobs({ markers, slots: SLOTS, committed, uncommitted }, recordedStep('sink'));
  expect(reads).toBe(2 * SLOTS.length);
});
