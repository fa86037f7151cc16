import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { setNames } from '../../schemas/documents.ts';
import { createCountedSets } from '../support/counted-sets.ts';
import { checkEveryManifest, chunksOf, manifestsOf, openDatabase } from './database.ts';
import { fromHex, numberedDevice, numberedDevices, randomDevices, sortedHex, toHex } from './devices.ts';

const database = openDatabase();
const owner = async () => true;
/** Everything overflows and is merged after a few additions. */
const tiny = { inlineDevices: 4, chunkDevices: 64, smallChunks: 3 };

let unique = 0;
const freshSet = () => setNames.attribute(++unique);

beforeAll(() => ensureIndexes(database.db));

describe('random additions and drops', () => {
  const names = ['a', 'b', 'a#1'];
  const numbers = fc.record({ from: fc.nat(400), length: fc.nat(90), step: fc.integer({ min: 1, max: 3 }) });
  const target = fc.record({ set: fc.constantFrom(...names), slot: fc.nat(1) });
  const step = fc.oneof(
    { weight: 9, arbitrary: fc.array(fc.tuple(target, numbers), { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.record({ sets: fc.subarray(names), slot: fc.nat(1) }) },
  );

  it('leave exactly what a Map of Sets holds, after each step', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
        const sets = createCountedSets(database.db, { layout: tiny, cacheBytes: 4_096 });
        const prefix = `random:${++run}:`;
        const model = new Map<string, Set<string>>();
        const modelOf = (set: string, slot: number) => {
          const key = `${set} ${slot}`;
          if (!model.has(key)) model.set(key, new Set());
          return model.get(key)!;
        };
        for (const now of steps) {
          if (Array.isArray(now)) {
            const additions = now.map(([{ set, slot }, { from, length, step }]) => ({
              set: prefix + set,
              slot,
              devices: numberedDevices(from, from + length, step),
            }));
            const added = await sets.add(additions, owner);
            for (const [i, { set, slot, devices }] of additions.entries()) {
              const before = modelOf(set, slot).size;
              for (const hex of toHex(devices)) modelOf(set, slot).add(hex);
              expect(added[i]).toEqual({
                added: modelOf(set, slot).size - before,
                count: modelOf(set, slot).size,
              });
            }
          } else {
            const dropped = now.sets.map((set) => prefix + set);
            expect(await sets.drop(dropped, now.slot, owner)).toEqual(
              dropped.map((set) => ({ set, removed: modelOf(set, now.slot).size })),
            );
            for (const set of dropped) modelOf(set, now.slot).clear();
          }
          const counts = await sets.counts(names.map((name) => prefix + name));
          for (const name of names) {
            const expected = modelOf(prefix + name, 0).size + modelOf(prefix + name, 1).size;
            expect(counts.get(prefix + name)).toBe(expected);
          }
        }
        for (const name of names) {
          for (const slot of [0, 1]) {
            const expected = sortedHex(modelOf(prefix + name, slot));
            expect(toHex(await sets.read(prefix + name, slot))).toEqual(expected);
          }
        }
        expect(await checkEveryManifest(database.db)).toEqual([]);
        expect(await sets.sweepOrphans({ unnamedForMs: 0 })).toBe(0);
        await sets.removeForGood(prefix.slice(0, -1));
      }),
      { numRuns: 40 },
    );
    expect(await manifestsOf(database.db).countDocuments()).toBe(0);
    expect(await chunksOf(database.db).countDocuments()).toBe(0);
  });
});

describe('adding', () => {
  it('twice changes nothing, not even the version', async () => {
    const sets = createCountedSets(database.db);
    const set = freshSet();
    const devices = numberedDevices(0, 3_000);
    await sets.add([{ set, slot: 3, devices }], owner);
    const before = await manifestsOf(database.db).findOne({ set });
    expect(await sets.add([{ set, slot: 3, devices }], owner)).toEqual([{ added: 0, count: 3_000 }]);
    expect(await manifestsOf(database.db).findOne({ set })).toEqual(before);
  });

  it('the same set and slot twice in one call adds both, in order', async () => {
    const sets = createCountedSets(database.db);
    const set = freshSet();
    const additions = [numberedDevices(0, 50), numberedDevices(30, 80)].map((devices) => ({
      set,
      slot: 0,
      devices,
    }));
    expect(await sets.add(additions, owner)).toEqual([
      { added: 50, count: 50 },
      { added: 30, count: 80 },
    ]);
  });

  it('nothing is a count, and leaves no document', async () => {
    const sets = createCountedSets(database.db);
    const set = freshSet();
    expect(await sets.add([], owner)).toEqual([]);
    expect(await sets.add([{ set, slot: 0, devices: new Uint8Array(0) }], owner)).toEqual([
      { added: 0, count: 0 },
    ]);
    expect(await manifestsOf(database.db).countDocuments({ set })).toBe(0);
    expect(await sets.count(set)).toBe(0);
    expect((await sets.read(set, 0)).byteLength).toBe(0);
  });

  it('refuses devices that are not sorted, before anything is written', async () => {
    const sets = createCountedSets(database.db);
    const set = freshSet();
    const unsorted = fromHex(sortedHex([numberedDevice(1), numberedDevice(2)]).reverse());
    const additions = [numberedDevices(0, 5), unsorted].map((devices) => ({ set, slot: 0, devices }));
    await expect(sets.add(additions, owner)).rejects.toThrow(TypeError);
    expect(await sets.count(set)).toBe(0);
  });

  it('few devices to a large set leaves its chunks as they are', async () => {
    const sets = createCountedSets(database.db, { layout: { smallChunks: 8 } });
    const set = freshSet();
    await sets.add([{ set, slot: 0, devices: randomDevices(200_000, 1) }], owner);
    const before = await manifestsOf(database.db).findOne({ set });
    for (let i = 0; i < 20; i++) {
      const [result] = await sets.add([{ set, slot: 0, devices: randomDevices(600, 100 + i) }], owner);
      expect(result).toEqual({ added: 600, count: 200_000 + 600 * (i + 1) });
    }
    const after = await manifestsOf(database.db).findOne({ set });
    expect(after!.chunks.map(({ id }) => id)).toEqual(
      expect.arrayContaining(before!.chunks.map(({ id }) => id)),
    );
    expect(after!.chunks.length - before!.chunks.length).toBeLessThanOrEqual(9);
    await checkEveryManifest(database.db);
  });
});

describe('removing for good', () => {
  it('takes a generation and its events in every slot, and no other generation', async () => {
    const sets = createCountedSets(database.db, { layout: tiny });
    const devices = numberedDevices(0, 100);
    const gone = [setNames.audience(7, 1), setNames.event(7, 1, 'buy'), setNames.event(7, 1, 'a#0@b:é')];
    const kept = [
      setNames.audience(7, 10),
      setNames.event(7, 10, 'buy'),
      setNames.audience(77, 1),
      setNames.audience(7, 2),
    ];
    const all = [...gone, ...kept];
    await sets.add(
      all.flatMap((set) => [0, 15].map((slot) => ({ set, slot, devices }))),
      owner,
    );
    await sets.removeForGood(setNames.audience(7, 1));
    const counts = await sets.counts(all);
    expect([...counts.values()]).toEqual([...gone.map(() => 0), ...kept.map(() => 200)]);
    expect(await manifestsOf(database.db).countDocuments({ set: { $in: gone } })).toBe(0);
    expect(await chunksOf(database.db).countDocuments({ set: { $in: gone } })).toBe(0);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });
});
