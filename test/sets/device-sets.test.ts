/** Random merges, deletions and repetitions, against a plain map of devices and their keys. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { noDevices } from '../../pipeline/sets/devices.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { spaces } from '../../schemas/documents.ts';
import { checkEveryManifest, openDatabase } from './database.ts';
import { fromHex, keyed, numberedDevice, onePart, toPlain } from './devices.ts';

const database = openDatabase();
/** So that everything happens: several levels, merges of them, splits. */
const tiny = { pageBytes: 128, regionBytes: 1_024, levelRatio: 3 };
const SLOT = 5;

beforeAll(() => ensureIndexes(database.db));

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
const sorted = <V>(map: Map<string, V>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

describe.each([1, 2, 3, 4, 5, 6])('seed %i', (seed) => {
  it('holds what was merged, counts what is new and what matches, and takes each job once', async () => {
    const random = createRandom(seed);
    const sets = createDeviceSets(database.db, { layout: tiny });
    const audience = spaces.audience(seed, 1);
    const marketplace = spaces.marketplace;
    const model: Record<string, Plain> = { [audience]: new Map(), [marketplace]: new Map() };
    await database.db.collection('manifests').deleteMany({});
    await database.db.collection('pages').deleteMany({});
    const earlier: (() => Promise<unknown>)[] = [];
    for (let job = 1; job <= 60; job++) {
      const isLoad = random(2) === 0;
      const space = isLoad ? audience : marketplace;
      const own = model[space]!;
      const target = { space, slot: SLOT, job, since: job - 1 };
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
      const groups = new Map<number, Set<string>>();
      const rows = random(3) === 0 ? random(400) : random(20);
      for (let row = 0; row < rows; row++) {
        const key = isLoad ? random(4) : 1 + random(5);
        const device = numberedDevice(random(1_500));
        groups.set(key, (groups.get(key) ?? new Set()).add(device));
      }
      const devices = keyed(...[...groups].map(([key, some]) => ({ key, devices: fromHex(some) })));
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
      // An owner that was frozen does again what it was about to do.
      await earlier[random(earlier.length)]!();
    }
    for (const space of [audience, marketplace]) {
      const found = await stored(sets, space);
      expect(sorted(found)).toEqual(sorted(asLists(model[space]!)));
    }
    expect(await checkEveryManifest(database.db)).toEqual([]);

    const composed = await sets.compose({ space: audience, others: [marketplace] }, SLOT);
    const common = [...model[audience]!.keys()].filter((device) => model[marketplace]!.has(device));
    expect([composed.devices, composed.matched]).toEqual([model[audience]!.size, common.length]);
    expect(composed.others.get(marketplace) ?? 0).toBe(common.length);
    expect(sortedCounts(composed.events)).toEqual(countKeys([...model[audience]!.values()]));
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
  const target = { space: 'a77.1', slot: SLOT, job: 3, since: 0 };
  expect(await sets.merge({ ...target, job: 2 }, onePart(noDevices))).toEqual({ total: 0, changes: [] });
  const { slice } = await import('../../pipeline/sets/devices.ts');
  const { total } = await sets.merge(target, async function* () {
    for (let from = 0; from < 900; from += 100) yield slice(devices, from, from + 100);
  });
  expect(total).toBe(900);
  expect((await stored(sets, 'a77.1')).size).toBe(900);
});
