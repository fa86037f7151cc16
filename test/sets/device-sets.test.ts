/** Random merges, deletions, erasures and repetitions, compared with a plain map of devices and their keys. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADDRESS_BITS } from '../../pipeline/formats/identifier.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { merge, noDevices, positionOf, slice } from '../../pipeline/sets/devices.ts';
import { defaultLayout } from '../../pipeline/sets/regions.ts';
import { MAX_ATTRIBUTES } from '../../pipeline/stages/dispatch/commit/limit-attributes.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { spaces } from '../../schemas/documents.ts';
import { slotTarget } from '../support/slot-target.ts';
import { checkEveryManifest, manifestsOf, openDatabase, pagesOf } from './database.ts';
import {
  fromHex,
  keyed,
  keyedBy,
  numberedDevice,
  numberedDevices,
  onePart,
  randomDevices,
  testPlacement,
  toPlain,
} from './devices.ts';

const database = openDatabase();
/** So small that everything happens: several levels, merges of levels, splits. */
const tiny = { pageBytes: 128, maxPageBytes: 2_048, regionBytes: 1_024, levelRatio: 3 };
const SLOT = 5;

/** Pages have room for a device with four keys, and some devices have five. */
const narrow = { ...tiny, maxPageBytes: 40 };
/** Layouts and hashes of every distribution: even, a single hash, a few hashes. */
const even = { name: 'evenly', placement: testPlacement, layout: tiny };
const same = {
  name: 'with one hash for all',
  placement: { id: 'one', hash: () => 0x51234567 },
  layout: narrow,
};
const few = {
  name: 'with a few hashes',
  placement: { id: 'few', hash: (words: Uint32Array, at: number) => 0x50000000 | (words[at]! % 3) },
  layout: { ...narrow, maxPageBytes: 400 },
};

beforeAll(() => ensureIndexes(database.db));
beforeEach(async () => {
  await manifestsOf(database.db).deleteMany({});
  await pagesOf(database.db).deleteMany({});
});

function createRandom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Plain = Map<string, Set<number>>;
const asLists = (plain: Plain) =>
  new Map([...plain].map(([device, keys]) => [device, [...keys].sort((a, b) => a - b)]));

async function stored(sets: ReturnType<typeof createDeviceSets>, space: string) {
  const found = new Map<string, number[]>();
  for await (const devices of sets.read(space, SLOT))
    for (const [device, keys] of toPlain(devices)) found.set(device, keys);
  return found;
}
async function largestPage(): Promise<number> {
  const bytes = { $add: [{ $binarySize: '$d' }, { $binarySize: '$k' }] };
  const [found] = await pagesOf(database.db)
    .aggregate<{ bytes: number }>([{ $group: { _id: null, bytes: { $max: bytes } } }])
    .toArray();
  return found?.bytes ?? 0;
}
const sorted = <V>(map: Map<string, V>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

describe.each([
  { seed: 1, ...even },
  { seed: 2, ...even },
  { seed: 4, ...same },
  { seed: 6, ...few },
])('seed $seed, placed $name', ({ seed, placement, layout }) => {
  it('holds what was merged, counts what is new and what matches, and takes each job once', async () => {
    const random = createRandom(seed);
    const sets = createDeviceSets(database.db, { layout, placement: async () => placement });
    const audience = spaces.audience(seed, 1);
    const marketplace = spaces.marketplace;
    const model: Record<string, Plain> = { [audience]: new Map(), [marketplace]: new Map() };
    const earlier: (() => Promise<unknown>)[] = [];
    for (let job = 1; job <= 60; job++) {
      const isLoad = random(2) === 0;
      const space = isLoad ? audience : marketplace;
      const own = model[space]!;
      const target = slotTarget({ space, slot: SLOT, job });
      if (!isLoad && random(8) === 0) {
        const keys = new Set([1 + random(5), 1 + random(5)]);
        const lost = [...own].filter(([, held]) => [...held].some((key) => keys.has(key)));
        const pairs = lost.flatMap(([, held]) => [...held].filter((key) => keys.has(key))).length;
        for (const again of [false, true]) {
          const { total, changes } = await sets.removeKeys(target, keys);
          const change = changes.find((one) => one.job === job);
          expect([change?.devices ?? 0, sum(change?.pairs), again]).toEqual([lost.length, pairs, again]);
          if (!again) {
            for (const [device, held] of lost) {
              for (const key of keys) held.delete(key);
              if (held.size === 0) own.delete(device);
            }
          }
          expect(total).toBe(own.size);
        }
        continue;
      }
      if (random(5) === 0) {
        const chosen = Array.from({ length: 1 + random(150) }, () => numberedDevice(random(1_500)));
        const keys = isLoad || random(2) === 0 ? undefined : new Set([1 + random(5), 1 + random(5)]);
        const isRemoved = (key: number) => keys?.has(key) ?? true;
        const lost = [...new Set(chosen)].filter(
          (device) => own.has(device) && (!keys || [...own.get(device)!].some(isRemoved)),
        );
        const removed = lost.flatMap((device) => [...own.get(device)!].filter(isRemoved));
        const gone = lost.filter((device) => !keys || [...own.get(device)!].every(isRemoved));
        const matched = gone.filter((device) => isLoad && model[marketplace]!.has(device)).length;
        for (const device of lost) for (const key of keys ?? []) own.get(device)!.delete(key);
        for (const device of gone) own.delete(device);
        const wanted = keyedBy(placement, { devices: fromHex(chosen) });
        for (const again of [false, true]) {
          const matchIn = isLoad ? marketplace : undefined;
          const { total, changes } = await sets.erase({ ...target, keys, matchIn }, wanted);
          const change = changes.find((one) => one.job === job);
          expect([change?.devices ?? 0, change?.matched ?? 0, sum(change?.pairs), total, again]).toEqual([
            lost.length,
            matched,
            removed.length,
            own.size,
            again,
          ]);
        }
        continue;
      }
      const groups = new Map<number, Set<string>>();
      const rows = random(3) === 0 ? random(400) : random(20);
      for (let row = 0; row < rows; row++) {
        const key = isLoad ? random(4) : 1 + random(5);
        const device = numberedDevice(random(1_500));
        groups.set(key, (groups.get(key) ?? new Set()).add(device));
      }
      const devices = keyedBy(
        placement,
        ...[...groups].map(([key, some]) => ({ key, devices: fromHex(some) })),
      );
      let added = 0;
      let matched = 0;
      let pairs = 0;
      for (const [key, some] of groups) {
        for (const device of some) {
          const held = own.get(device);
          if (!held) {
            own.set(device, new Set());
            added++;
            if (model[marketplace]!.has(device)) matched++;
          }
          if (key > 0 && !own.get(device)!.has(key)) {
            own.get(device)!.add(key);
            pairs++;
          }
        }
      }
      const matchIn = isLoad ? marketplace : undefined;
      for (const again of [false, true]) {
        const { total, changes } = await sets.merge({ ...target, matchIn }, onePart(devices));
        const change = changes.find((one) => one.job === job);
        expect([change?.devices ?? 0, change?.matched ?? 0, sum(change?.pairs), total, again]).toEqual([
          added,
          isLoad ? matched : 0,
          pairs,
          own.size,
          again,
        ]);
      }
      earlier.push(() => sets.merge({ ...target, matchIn }, onePart(devices)));
      // A frozen owner repeats its merge.
      await earlier[random(earlier.length)]!();
    }
    for (const space of [audience, marketplace]) {
      const found = await stored(sets, space);
      expect(sorted(found)).toEqual(sorted(asLists(model[space]!)));
    }
    expect(await checkEveryManifest(database.db, placement)).toEqual([]);
    expect(await largestPage()).toBeLessThanOrEqual(layout.maxPageBytes);

    const composed = await sets.compose({ space: audience, others: [marketplace] }, SLOT);
    const common = [...model[audience]!.keys()].filter((device) => model[marketplace]!.has(device));
    expect([composed.devices, composed.matched]).toEqual([model[audience]!.size, common.length]);
    expect(composed.others.get(marketplace) ?? 0).toBe(common.length);
    const keys = [...model[audience]!.values()];
    const without = keys.filter((ofDevice) => [...ofDevice].length === 0).length;
    expect(sortedCounts(composed.events)).toEqual([...(without ? [[0, without]] : []), ...countKeys(keys)]);
    expect(sortedCounts(composed.attributes)).toEqual(
      countKeys(common.map((device) => model[marketplace]!.get(device)!)),
    );
    await sets.removeSpace(audience);
    expect(sorted(await stored(sets, audience))).toEqual([]);
    expect((await stored(sets, marketplace)).size).toBe(model[marketplace]!.size);
  });
});

const sum = (pairs: Map<number, number> | undefined) =>
  [...(pairs?.values() ?? [])].reduce((total, count) => total + count, 0);
const sortedCounts = (counts: Map<number, number>) => [...counts].sort(([a], [b]) => a - b);

function countKeys(all: Set<number>[]): [number, number][] {
  const counts = new Map<number, number>();
  for (const keys of all) for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return sortedCounts(counts);
}

it('merges in parts, and nothing at all', async () => {
  const sets = createDeviceSets(database.db, { layout: tiny });
  const devices = keyed({
    devices: fromHex(Array.from({ length: 900 }, (_, n) => numberedDevice(n))),
    key: 7,
  });
  const target = { space: 'a77.1', slot: SLOT };
  const nothing = await sets.merge(slotTarget({ ...target, job: 2 }), onePart(noDevices));
  expect(nothing).toEqual({ total: 0, changes: [] });
  const { total } = await sets.merge(slotTarget({ ...target, job: 3 }), async function* () {
    for (let from = 0; from < 900; from += 100) yield slice(devices, from, from + 100);
  });
  expect(total).toBe(900);
  expect((await stored(sets, 'a77.1')).size).toBe(900);
});

it('writes each part of a large merge once: no part rewrites what an earlier one wrote', async () => {
  const sets = createDeviceSets(database.db, { layout: tiny });
  const devices = keyed({ devices: numberedDevices(0, 1_600) });
  const PARTS = 32;
  const startOf = (part: number) => positionOf(devices, (part * 2 ** ADDRESS_BITS) / PARTS);
  const target = slotTarget({ space: 'a80.1', slot: SLOT, job: 1 });
  const { total } = await sets.merge(target, async function* () {
    for (let part = 0; part < PARTS; part++) yield slice(devices, startOf(part), startOf(part + 1));
  });
  expect(total).toBe(1_600);
  expect(await manifestsOf(database.db).findOne()).toMatchObject({ replaced: [] });
  expect(await checkEveryManifest(database.db)).toEqual([]);
});

describe('the spaces that hold some devices', () => {
  const spacesOf = async (sets: ReturnType<typeof createDeviceSets>, from: number, to: number) => {
    const names = Array.from({ length: 120 }, (_, n) => spaces.audience(n + 1, 1));
    const wanted = keyed({ devices: numberedDevices(from, to) });
    return (await sets.holders({ spaces: names, slot: SLOT }, wanted)).sort();
  };

  /** Audience n holds the devices from 10 n on, more for larger n, in two levels or more. */
  async function store(sets: ReturnType<typeof createDeviceSets>) {
    for (let n = 1; n <= 100; n++) {
      const target = { space: spaces.audience(n, 1), slot: SLOT };
      const [from, to] = [10 * n, 11 * n];
      await sets.merge(
        slotTarget({ ...target, job: 1 }),
        onePart(keyed({ devices: numberedDevices(from + 1, to) })),
      );
      await sets.merge(
        slotTarget({ ...target, job: 2 }),
        onePart(keyed({ devices: numberedDevices(from, from + 1) })),
      );
    }
  }
  const expected = (from: number, to: number) =>
    Array.from({ length: 100 }, (_, n) => n + 1)
      .filter((n) => 10 * n < to && Math.max(11 * n, 10 * n + 1) > from)
      .map((n) => spaces.audience(n, 1))
      .sort();

  it('are found with a few commands, however many others there are', async () => {
    const sets = createDeviceSets(database.db, { layout: tiny });
    await store(sets);
    await manifestsOf(database.db).updateMany({}, { $unset: { addresses: '' } });
    for (const [from, to] of [
      [0, 10],
      [505, 506],
      [1_000, 1_001],
      [640, 660],
    ] as const) {
      let commands = 0;
      const onCommand = () => commands++;
      database.db.client.on('commandStarted', onCommand);
      const found = await spacesOf(sets, from, to);
      database.db.client.off('commandStarted', onCommand);
      // An audience with a level of many pages may be among them.
      expect(found).toEqual(expect.arrayContaining(expected(from, to)));
      expect(found.length).toBeLessThan(expected(from, to).length + 10);
      expect(commands).toBeLessThan(10);
    }
  });

  it('are those, too, of which a page is gone: it may have been replaced', async () => {
    const sets = createDeviceSets(database.db);
    await store(sets);
    // As in slots with too many devices to list their addresses.
    await manifestsOf(database.db).updateMany({}, { $unset: { addresses: '' } });
    expect(await spacesOf(sets, 505, 506)).toEqual(expected(505, 506));
    const space = spaces.audience(7, 1);
    await pagesOf(database.db).deleteOne({ _id: { $gte: space, $lt: `${space}~` } });
    expect(await spacesOf(sets, 505, 506)).toEqual([...expected(505, 506), space].sort());
  });
});

it('more devices with one hash than a document has room for are stored, found and counted', async () => {
  const MANY = 1_060_000;
  const { placement } = same;
  const sets = createDeviceSets(database.db, { placement: async () => placement });
  const devices = randomDevices(MANY + 1_000, 1);
  const bytes = (from: number, to: number) => devices.subarray(16 * from, 16 * to);
  const target = { space: 'a78.1', slot: SLOT };
  const first = onePart(keyedBy(placement, { devices: bytes(0, MANY), key: 3 }));
  expect(await sets.merge(slotTarget({ ...target, job: 1 }), first)).toMatchObject({ total: MANY });
  const more = onePart(keyedBy(placement, { devices: bytes(MANY - 1_000, MANY + 1_000), key: 4 }));
  const { total, changes } = await sets.merge(slotTarget({ ...target, job: 2 }), more);
  expect([total, changes]).toMatchObject([MANY + 1_000, [{ devices: 1_000, pairs: new Map([[4, 2_000]]) }]]);
  const found: unknown[] = [];
  for await (const one of sets.find(bytes(MANY - 1, MANY))) found.push(one);
  expect(found).toEqual([{ space: 'a78.1', keys: [3, 4] }]);
  expect(await largestPage()).toBeLessThanOrEqual(defaultLayout.maxPageBytes);
});

it('a device with a million keys, more than a page has room for, keeps all of them', async () => {
  const sets = createDeviceSets(database.db);
  const target = { space: 'a79.1', slot: SLOT };
  const name = numberedDevice(1);
  const keys = Uint32Array.from({ length: MAX_ATTRIBUTES }, (_, n) => 1 + 4_000 * n);
  const rich = { ...keyed({ devices: fromHex([name]) }), ends: Uint32Array.of(keys.length), keys };
  const neighbours = keyed({ devices: fromHex(Array.from({ length: 50 }, (_, n) => numberedDevice(n))) });
  const { changes } = await sets.merge(slotTarget({ ...target, job: 1 }), onePart(merge([rich, neighbours])));
  expect([changes[0]!.devices, sum(changes[0]!.pairs)]).toEqual([50, keys.length]);
  const found = Uint32Array.from((await stored(sets, 'a79.1')).get(name)!);
  expect(Buffer.from(found.buffer).equals(Buffer.from(keys.buffer))).toBe(true);
  expect(await largestPage()).toBeLessThanOrEqual(defaultLayout.maxPageBytes);
  const removed = await sets.removeKeys(slotTarget({ ...target, job: 2 }), new Set(keys.subarray(1)));
  expect(removed.changes[0]).toMatchObject({ devices: 1 });
  expect((await stored(sets, 'a79.1')).get(name)).toEqual([1]);
});
