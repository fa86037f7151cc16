/** No space that holds a device is missed, whatever was merged, removed and interrupted before: a deletion would leave the device there. */
import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections, spaces } from '../../schemas/documents.ts';
import { slotTarget } from '../support/slot-target.ts';
import {
  aroundManifests,
  checkEveryManifest,
  emptyDatabase,
  manifestsOf,
  openDatabase,
  pagesOf,
} from './database.ts';
import { fromHex, keyed, keyedBy, numberedDevice, onePart, testPlacement } from './devices.ts';

const database = openDatabase();
const tiny = { pageBytes: 128, maxPageBytes: 2_048, regionBytes: 1_024, levelRatio: 3 };
const SLOT = 5;
/** The manifest of a slot with more devices lists no addresses. */
const MAX_ADDRESSES = 512;

beforeEach(async () => {
  await emptyDatabase(database.db);
  await ensureIndexes(database.db);
});

/** Few different ones, so that the same devices are merged and erased again and again. */
const few = fc.array(fc.nat(80), { minLength: 1, maxLength: 12 });
const many = fc
  .record({ from: fc.nat(200), count: fc.integer({ min: 50, max: 700 }) })
  .map(({ from, count }) => Array.from({ length: count }, (_, i) => from + i));
const audience = fc.integer({ min: 1, max: 2 });
const key = fc.integer({ min: 1, max: 3 });
const devices = fc.oneof({ weight: 4, arbitrary: few }, { weight: 1, arbitrary: many });

const { constant, constantFrom, record } = fc;
const anyAction = fc.oneof(
  { weight: 6, arbitrary: record({ kind: constant('merge' as const), audience, devices, key }) },
  {
    weight: 3,
    arbitrary: record({ kind: constant('erase' as const), audience, devices, key: fc.option(key) }),
  },
  {
    weight: 3,
    arbitrary: record({ kind: constant('interrupted' as const), audience, devices, at: fc.nat(2) }),
  },
  { weight: 1, arbitrary: record({ kind: constant('remove key' as const), audience, key }) },
  {
    weight: 1,
    arbitrary: record({ kind: constantFrom('clear' as const, 'drop' as const, 'fence' as const), audience }),
  },
);
type Action = typeof anyAction extends fc.Arbitrary<infer T> ? T : never;

/** The spaces of audiences, each with the devices that it holds; and those whose manifest no longer lists addresses. */
function createModel(run: number) {
  const generations = new Map<number, number>();
  const held = new Map<string, Map<number, Set<number>>>();
  const unlisted = new Set<string>();
  return {
    held,
    unlisted,
    clear: (id: number) => generations.set(id, (generations.get(id) ?? 1) + 1),
    spaceOf(id: number): string {
      const space = spaces.audience(10 * run + id, generations.get(id) ?? 1);
      if (!held.has(space)) held.set(space, new Map());
      return space;
    },
    add(space: string, numbers: number[], key: number): void {
      const own = held.get(space)!;
      for (const n of numbers) own.set(n, (own.get(n) ?? new Set()).add(key));
      if (own.size > MAX_ADDRESSES) unlisted.add(space);
    },
    erase(space: string, numbers: number[], key: number | null): void {
      const own = held.get(space)!;
      for (const n of numbers)
        if (key === null || (own.get(n)?.delete(key) && own.get(n)!.size === 0)) own.delete(n);
    },
    removeKey(space: string, key: number): void {
      const { size } = held.get(space)!;
      this.erase(space, [...held.get(space)!.keys()], key);
      if (held.get(space)!.size < size) unlisted.add(space);
    },
  };
}

/** With the second, most devices share their address with others. */
const placements = [
  { name: 'evenly', placement: testPlacement },
  {
    name: 'with a few hashes',
    placement: { id: 'few', hash: (words: Uint32Array, at: number) => 0x50000000 | (words[at]! % 40) },
  },
];
let runs = 0;

it.each(placements)('spaces that hold devices, placed $name, are found', async ({ placement }) => {
  const { db } = database;
  const open = (on = db) => createDeviceSets(on, { layout: tiny, placement: async () => placement });
  const sets = open();
  const bytesOf = (numbers: number[]) => fromHex(numbers.map(numberedDevice));
  const devicesOf = (numbers: number[]) => keyedBy(placement, { devices: bytesOf(numbers) });

  /** A process that dies while it erases: before it writes manifests for the first or second time, or before it changes pages. */
  async function interrupt(space: string, numbers: number[], at: number, job: number): Promise<boolean> {
    let writes = 0;
    const before = async () => {
      if (++writes > at % 2) throw new Error('died');
    };
    const dying = open(aroundManifests(db, { before }, at === 2 ? collections.pages : collections.manifests));
    const target = { ...slotTarget({ space, slot: SLOT, job }), isRecorded: () => true };
    await dying.erase(target, devicesOf(numbers)).catch(() => {});
    const stored = await manifestsOf(db).findOne({ space });
    return stored?.merged.some((last) => last.job === job) ?? false;
  }

  async function apply(model: ReturnType<typeof createModel>, job: number, action: Action): Promise<void> {
    if (action.kind === 'clear') model.clear(action.audience);
    const space = model.spaceOf(action.audience);
    const target = slotTarget({ space, slot: SLOT, job });
    switch (action.kind) {
      case 'merge': {
        const { devices: numbers, key } = action;
        await sets.merge(target, onePart(keyedBy(placement, { devices: bytesOf(numbers), key })));
        return model.add(space, numbers, key);
      }
      case 'erase': {
        const { devices: numbers, key } = action;
        const keys = key === null ? undefined : new Set([key]);
        await sets.erase({ ...target, keys }, devicesOf(numbers));
        return model.erase(space, numbers, key);
      }
      case 'interrupted':
        if (await interrupt(space, action.devices, action.at, job)) model.erase(space, action.devices, null);
        return;
      case 'remove key':
        await sets.removeKeys(target, new Set([action.key]));
        return model.removeKey(space, action.key);
      case 'drop':
        await sets.drop(target);
        return;
      case 'fence':
        return sets.fence(target);
    }
  }

  async function search({ held, unlisted }: ReturnType<typeof createModel>, numbers: number[]) {
    const wanted = devicesOf(numbers);
    const among = [...held.keys()];
    const found = (await sets.holders({ slot: SLOT }, wanted)).sort();
    expect((await sets.holders({ slot: SLOT, spaces: among }, wanted)).sort()).toEqual(found);
    const holding = among.filter((space) => numbers.some((n) => held.get(space)!.has(n)));
    expect(found).toEqual(expect.arrayContaining(holding));
    // Of a pending erasure, some devices may still be in pages.
    const pending = await manifestsOf(db).distinct('space', { erasing: { $exists: true } });
    expect(found).toEqual(expect.arrayContaining(pending));
    if (placement !== testPlacement) return;
    const expected = new Set([...holding, ...pending]);
    expect(found.filter((space) => !expected.has(space) && !unlisted.has(space))).toEqual([]);
  }

  await fc.assert(
    fc.asyncProperty(
      fc.array(anyAction, { minLength: 10, maxLength: 25 }),
      fc.array(devices, { minLength: 1, maxLength: 3 }),
      async (actions, searches) => {
        await manifestsOf(db).deleteMany({});
        await pagesOf(db).deleteMany({});
        const model = createModel(++runs);
        for (const [index, action] of actions.entries()) {
          await apply(model, index + 1, action);
          for (const numbers of searches) await search(model, numbers);
          // Neighbours of those that were just changed.
          for (const own of model.held.values()) await search(model, [...own.keys()].slice(-1));
        }
        // Completes pending erasures.
        for (const space of model.held.keys()) await sets.drop(slotTarget({ space, slot: SLOT, job: 1_000 }));
        const listed = await manifestsOf(db).distinct('space', { addresses: { $exists: true } });
        expect(listed).toEqual([...model.held.keys()].filter((space) => !model.unlisted.has(space)).sort());
        await checkEveryManifest(db, placement);
      },
    ),
    { numRuns: 10, seed: Number(process.env.HEADRACE_TEST_SEED ?? 1) },
  );
});

it('a search reads no page of a small slot, and no manifest of another slot', async () => {
  const sets = createDeviceSets(database.db);
  for (let id = 1; id <= 30; id++) {
    const own = onePart(keyed({ devices: fromHex([numberedDevice(id)]) }));
    for (const slot of [SLOT, SLOT + 1])
      await sets.merge(slotTarget({ space: spaces.audience(id, 1), slot, job: 1 }), own);
  }
  const commands: string[] = [];
  const onStarted = ({ command }: { command: { find?: string; getMore?: unknown } }) =>
    commands.push(command.find ?? 'getMore');
  database.db.client.on('commandStarted', onStarted);
  const wanted = keyed({ devices: fromHex([numberedDevice(7)]) });
  expect(await sets.holders({ slot: SLOT }, wanted)).toEqual([spaces.audience(7, 1)]);
  database.db.client.off('commandStarted', onStarted);
  expect(commands).toEqual([collections.manifests]);
});
