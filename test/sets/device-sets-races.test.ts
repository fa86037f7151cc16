import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { FencedError } from '../../pipeline/sets/device-sets.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { setNames } from '../../schemas/documents.ts';
import { createCountedSets } from '../support/counted-sets.ts';
import { beforeManifests, checkEveryManifest, chunksOf, createGate, openDatabase } from './database.ts';
import { numberedDevices, randomDevices, toHex } from './devices.ts';

const database = openDatabase();
const owner = async () => true;
const noOwner = async () => false;
/** Owns the slot until it is told otherwise. */
const createOwnership = () => {
  let owns = true;
  const lose = () => {
    owns = false;
  };
  return { fence: async () => owns, lose };
};
const tiny = { inlineDevices: 4, chunkDevices: 64, smallChunks: 3 };

let unique = 0;
const freshSet = () => setNames.attribute(++unique);
/** One that stops between its chunks and its manifests the first time, until the gate opens. */
const paused = (gate: ReturnType<typeof createGate>) => {
  let first = true;
  const db = beforeManifests(database.db, async () => {
    if (first) {
      first = false;
      await gate.wait();
    }
  });
  return createCountedSets(db, { layout: tiny });
};

beforeAll(() => ensureIndexes(database.db));

describe('two that add to the same set and slot', () => {
  it('both get everything in, and together they add each device once', async () => {
    const set = freshSet();
    const adders = [1, 2, 3].map(() => createCountedSets(database.db, { layout: tiny, cacheBytes: 2_048 }));
    const results = await Promise.all(
      adders.map(async (sets, number) => {
        let added = 0;
        for (let i = 0; i < 15; i++) {
          const from = number * 100 + i * 20;
          const [result] = await sets.add(
            [{ set, slot: 0, devices: numberedDevices(from, from + 35) }],
            owner,
          );
          added += result!.added;
        }
        return added;
      }),
    );
    const expected = numberedDevices(0, 200 + 14 * 20 + 35);
    expect(toHex(await adders[0]!.read(set, 0))).toEqual(toHex(expected));
    expect(results.reduce((sum, added) => sum + added, 0)).toBe(expected.byteLength / 16);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });

  it.each([
    ['no manifest yet', 0],
    ['an inline set', 3],
    ['a set with chunks', 300],
  ])('the slower one redoes only what it lost: %s', async (_, existing) => {
    const [lost, won] = [freshSet(), freshSet()];
    const quick = createCountedSets(database.db, { layout: tiny });
    const start = numberedDevices(0, existing);
    await quick.add(
      [lost, won].map((set) => ({ set, slot: 1, devices: start })),
      owner,
    );
    const gate = createGate();
    const slow = paused(gate).add(
      [lost, won].map((set) => ({ set, slot: 1, devices: numberedDevices(1_000, 1_020) })),
      owner,
    );
    await gate.reached;
    await quick.add([{ set: lost, slot: 1, devices: numberedDevices(1_010, 1_030) }], owner);
    gate.open();
    expect(await slow).toEqual([
      { added: 10, count: existing + 30 },
      { added: 20, count: existing + 20 },
    ]);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });
});

describe('an owner that has been replaced', () => {
  it.each([
    ['there was no set', 0, 50],
    ['the set was inline', 3, 4],
    ['the set had chunks', 300, 350],
  ])('resurrects nothing when a drop overtakes it: %s', async (_, existing, offered) => {
    const set = freshSet();
    const heir = createCountedSets(database.db, { layout: tiny });
    await heir.add([{ set, slot: 2, devices: numberedDevices(0, existing) }], owner);
    const gate = createGate();
    const { fence, lose } = createOwnership();
    const stale = paused(gate).add([{ set, slot: 2, devices: numberedDevices(0, offered) }], fence);
    await gate.reached;
    lose();
    expect(await heir.drop([set], 2, owner)).toEqual([{ set, removed: existing }]);
    gate.open();
    await expect(stale).rejects.toBeInstanceOf(FencedError);
    await expect(stale).rejects.toMatchObject({ code: 'fenced' });
    expect(await heir.count(set)).toBe(0);
    expect((await heir.read(set, 2)).byteLength).toBe(0);
    expect(await chunksOf(database.db).countDocuments({ set })).toBe(0);
  });

  it('nor when what was dropped was empty already', async () => {
    const set = freshSet();
    const heir = createCountedSets(database.db, { layout: tiny });
    await heir.drop([set, set], 0, owner);
    const gate = createGate();
    const { fence, lose } = createOwnership();
    const stale = paused(gate).add([{ set, slot: 0, devices: numberedDevices(0, 9) }], fence);
    await gate.reached;
    lose();
    await heir.drop([set], 0, owner);
    gate.open();
    await expect(stale).rejects.toBeInstanceOf(FencedError);
    expect(await heir.count(set)).toBe(0);
    expect(await heir.add([{ set, slot: 0, devices: numberedDevices(0, 9) }], owner)).toEqual([
      { added: 9, count: 9 },
    ]);
  });

  it('writes nothing when it wakes up after the drop, though no race is left to lose', async () => {
    const set = freshSet();
    const sets = createCountedSets(database.db, { layout: tiny });
    await sets.add([{ set, slot: 0, devices: numberedDevices(0, 100) }], owner);
    await sets.drop([set], 0, owner);
    const late = sets.add([{ set, slot: 0, devices: numberedDevices(0, 100) }], noOwner);
    await expect(late).rejects.toBeInstanceOf(FencedError);
    expect(await sets.count(set)).toBe(0);
    expect(await chunksOf(database.db).countDocuments({ set })).toBe(0);
  });

  it('drops nothing of what its heir has added since', async () => {
    const set = freshSet();
    const sets = createCountedSets(database.db, { layout: tiny });
    await sets.add([{ set, slot: 0, devices: numberedDevices(0, 100) }], owner);
    await expect(sets.drop([set], 0, noOwner)).rejects.toBeInstanceOf(FencedError);
    const { fence, lose } = createOwnership();
    const overtaken = sets.drop([set], 0, async () => {
      const owns = await fence();
      lose();
      await sets.add([{ set, slot: 0, devices: numberedDevices(100, 110) }], owner);
      return owns;
    });
    await expect(overtaken).rejects.toBeInstanceOf(FencedError);
    expect(await sets.count(set)).toBe(110);
  });
});

describe('an end between the chunks and the manifest', () => {
  it('leaves the sets as they were; the same addition then goes in; the orphans are swept', async () => {
    const set = freshSet();
    const sets = createCountedSets(database.db, { layout: tiny });
    await sets.add([{ set, slot: 0, devices: numberedDevices(0, 100) }], owner);
    const cutOff = beforeManifests(database.db, async () => {
      throw new Error('power cut');
    });
    const crashing = createCountedSets(cutOff, { layout: tiny });
    const addition = { set, slot: 0, devices: numberedDevices(50, 400) };
    await expect(crashing.add([addition], owner)).rejects.toThrow('power cut');

    expect(toHex(await sets.read(set, 0))).toEqual(toHex(numberedDevices(0, 100)));
    const orphans = await checkEveryManifest(database.db);
    expect(orphans.length).toBeGreaterThan(0);
    expect(await sets.add([addition], owner)).toEqual([{ added: 300, count: 400 }]);
    expect(await sets.sweepOrphans({ unnamedForMs: 60 * 60_000 })).toBe(0);
    expect(await sets.sweepOrphans({ unnamedForMs: 0 })).toBe(orphans.length);
    expect(await checkEveryManifest(database.db)).toEqual([]);
    expect(toHex(await sets.read(set, 0))).toEqual(toHex(numberedDevices(0, 400)));
  });

  it('a sweep meanwhile leaves chunks to the addition that is about to name them, whatever its clock says', async () => {
    const set = freshSet();
    const gate = createGate();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 2 * 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    const adding = paused(gate).add([{ set, slot: 0, devices: numberedDevices(0, 90) }], owner);
    await gate.reached;
    vi.useRealTimers();
    const sets = createCountedSets(database.db);
    expect(await sets.sweepOrphans({ unnamedForMs: 60_000 })).toBe(0);
    expect(await sets.sweepOrphans({ unnamedForMs: 60_000 })).toBe(0);
    gate.open();
    expect(await adding).toEqual([{ added: 90, count: 90 }]);
    expect(toHex(await sets.read(set, 0))).toEqual(toHex(numberedDevices(0, 90)));
  });
});

it('a reader beside merges and drops sees a set as it was at some moment', async () => {
  const set = freshSet();
  const writer = createCountedSets(database.db, { layout: tiny });
  const reader = createCountedSets(database.db, { layout: tiny, cacheBytes: 0 });
  await writer.add([{ set, slot: 0, devices: numberedDevices(0, 30) }], owner);
  let writing = true;
  const written = (async () => {
    for (let i = 1; i < 40; i++) {
      await writer.add([{ set, slot: 0, devices: numberedDevices(i * 30, i * 30 + 30) }], owner);
    }
    writing = false;
  })();
  const seen: number[] = [];
  while (writing) {
    const [{ byteLength }, { devices, matched }] = await Promise.all([
      reader.read(set, 0),
      reader.overlap(set, 0),
    ]);
    seen.push(byteLength / 16);
    expect(matched).toBe(devices);
  }
  await written;
  expect(seen.every((count, i) => count % 30 === 0 && count >= (seen[i - 1] ?? 30))).toBe(true);
});

it('a process that was away reads through its cache and still finds what is new', async () => {
  const set = freshSet();
  const [one, other] = [createCountedSets(database.db), createCountedSets(database.db)];
  await one.add([{ set, slot: 0, devices: randomDevices(5_000, 1) }], owner);
  await other.add([{ set, slot: 0, devices: randomDevices(5_000, 2) }], owner);
  expect(await one.add([{ set, slot: 0, devices: randomDevices(5_000, 2) }], owner)).toEqual([
    { added: 0, count: 10_000 },
  ]);
});
