/** The suppression list, and erasures during merges and crashes. */
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { type Devices, merge } from '../../pipeline/sets/devices.ts';
import { cutDigests, shortDigestsOf } from '../../pipeline/sets/suppressions.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections, spaces } from '../../schemas/documents.ts';
import { slotTarget } from '../support/slot-target.ts';
import {
  aroundManifests,
  checkEveryManifest,
  createGate,
  emptyDatabase,
  openDatabase,
  pagesOf,
} from './database.ts';
import { fromHex, keyed, numberedDevice, numberedDevices, onePart, toPlain } from './devices.ts';

const database = openDatabase();
const tiny = { pageBytes: 128, regionBytes: 1_024, levelRatio: 3 };
const slot = 1;
const space = spaces.marketplace;
const open = (db = database.db) => createDeviceSets(db, { layout: tiny });
type Sets = ReturnType<typeof open>;
const range = (from: number, to: number, key = 1) => keyed({ devices: numberedDevices(from, to), key });
const hexOf = (number: number) => Buffer.from(numberedDevice(number), 'hex');

beforeEach(async () => {
  await emptyDatabase(database.db);
  await ensureIndexes(database.db);
});

const suppress = (sets: Sets, job: number, devices: Devices, list = spaces.suppressed()) =>
  sets.merge(
    slotTarget({ space: list, slot, job }),
    onePart(keyed({ devices: shortDigestsOf(devices), key: job })),
  );

/** The numbers of the suppressed devices. */
async function suppressedAmong(sets: Sets, from: number, to: number, partner = 'p'): Promise<number[]> {
  const devices = range(from, to);
  const flags = await sets.suppressedAmong(partner, slot, devices);
  const names = [...toPlain(devices).keys()];
  const numberOf = new Map(Array.from({ length: to - from }, (_, n) => [numberedDevice(from + n), from + n]));
  return names.flatMap((name, n) => (flags?.[n] ? [numberOf.get(name)!] : [])).sort((a, b) => a - b);
}
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

/** Whether a page holds the device. */
async function isStored(number: number): Promise<boolean> {
  const pages = await pagesOf(database.db).find().toArray();
  return pages.some(({ d }) =>
    Buffer.from((d as unknown as { buffer: Uint8Array }).buffer).includes(hexOf(number)),
  );
}

describe('the suppression list', () => {
  it('has the devices of everyone’s requests and of the partner’s own, as they come and go', async () => {
    const [sets, other] = [open(), open()];
    expect(await suppressedAmong(sets, 0, 3_000)).toEqual([]);
    await suppress(other, 1, range(0, 10));
    expect(await suppressedAmong(sets, 0, 3_000)).toEqual(numbers(0, 10));
    await suppress(other, 2, range(20, 1_500), spaces.suppressed('p'));
    expect(await suppressedAmong(sets, 0, 3_000)).toEqual([...numbers(0, 10), ...numbers(20, 1_500)]);
    expect(await suppressedAmong(sets, 0, 3_000, 'q')).toEqual(numbers(0, 10));
    const digests = keyed({ devices: shortDigestsOf(range(5, 25)) });
    await other.erase(slotTarget({ space: spaces.suppressed('p'), slot, job: 3 }), digests);
    await other.erase(slotTarget({ space: spaces.suppressed(), slot, job: 3 }), digests);
    expect(await suppressedAmong(sets, 0, 3_000)).toEqual([...numbers(0, 5), ...numbers(25, 1_500)]);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });

  it('has digests of devices that are not known, in the slots of the digests', async () => {
    const sets = open();
    const full = Buffer.concat(
      numbers(0, 40).map((n) => createHash('sha256').update(numberedDevice(n)).digest()),
    );
    const digests = keyed({ devices: cutDigests(full), key: 1 });
    const { hash } = await sets.placement();
    for (let at = 0; at < 16; at++) {
      const here = [...toPlain(digests).keys()].filter((digest) => {
        const words = new Uint32Array(Uint8Array.from(Buffer.from(digest, 'hex')).buffer);
        return hash(words, 0) >>> 28 === at;
      });
      if (here.length > 0)
        await sets.merge(
          slotTarget({ space: spaces.digests, slot: at, job: 1 }),
          onePart(keyed({ devices: fromHex(here), key: 1 })),
        );
    }
    expect(await suppressedAmong(sets, 0, 200)).toEqual(numbers(0, 40));
    expect(await isStored(7)).toBe(false);
  });
});

describe('an erasure', () => {
  it('makes a merge that read the list before start over', async () => {
    const gate = createGate();
    const frozen = open(aroundManifests(database.db, { before: gate.wait }));
    const listed = async function* () {
      const all = range(0, 100);
      const flags = await frozen.suppressedAmong('p', slot, all);
      const kept = [...toPlain(all).keys()].filter((_, n) => !flags?.[n]);
      yield merge([keyed({ devices: fromHex(kept), key: 1 })]);
    };
    const merging = frozen.merge(slotTarget({ space, slot, job: 1 }), listed);
    await gate.reached;
    await suppress(open(), 2, range(10, 20));
    await open().fence({ space, slot });
    await open().erase(slotTarget({ space, slot, job: 2, partner: '*' }), range(10, 20));
    gate.open();
    await merging;
    expect(await open().count(space)).toBe(90);
    expect(await isStored(15)).toBe(false);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });

  it('is not undone by a merge that had read the pages, and leaves no device in a page', async () => {
    await open().merge(slotTarget({ space, slot, job: 1 }), onePart(range(0, 300)));
    const gate = createGate();
    const frozen = open(aroundManifests(database.db, { before: gate.wait }));
    const merging = frozen.merge(slotTarget({ space, slot, job: 2 }), onePart(range(290, 900, 2)));
    await gate.reached;
    await open().erase(slotTarget({ space, slot, job: 3, partner: '*' }), range(0, 50));
    gate.open();
    await merging;
    expect(await open().count(space)).toBe(850);
    for (const number of [0, 25, 49]) expect(await isStored(number)).toBe(false);
    expect(await isStored(50)).toBe(true);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });

  it('whose process dies when it is counted is completed by the next, with the same count', async () => {
    await open().merge(slotTarget({ space, slot, job: 1 }), onePart(range(0, 300)));
    let writes = 0;
    const dying = open(
      aroundManifests(database.db, {
        after: async () => {
          if (++writes === 1) throw new Error('died');
        },
      }),
    );
    const target = slotTarget({ space, slot, job: 2 });
    await expect(dying.erase(target, range(100, 150))).rejects.toThrow('died');
    expect(await isStored(120)).toBe(true);
    const { total, changes } = await open().erase(target, range(100, 150));
    expect([total, changes.find(({ job }) => job === 2)?.devices]).toEqual([250, 50]);
    for (const number of [100, 120, 149]) expect(await isStored(number)).toBe(false);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });

  it('that is counted is completed by the next change of the slot, which adds to what is left', async () => {
    await open().merge(slotTarget({ space, slot, job: 1 }), onePart(range(0, 300)));
    const died = async () => {
      throw new Error('died');
    };
    const dying = open(aroundManifests(database.db, { after: died }));
    const target = { ...slotTarget({ space, slot, job: 2 }), keys: new Set([1]) };
    await expect(dying.erase(target, range(100, 150))).rejects.toThrow('died');
    const others = slotTarget({ space, slot, job: 3, partner: 'q', since: 1 });
    const merged = await open().merge(others, onePart(range(140, 160, 2)));
    expect([merged.total, merged.changes.at(-1)!.devices]).toEqual([260, 10]);
    expect(await isStored(120)).toBe(false);
    const { total, changes } = await open().erase(target, range(100, 150));
    expect([total, changes.find(({ job }) => job === 2)?.devices]).toEqual([260, 50]);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });

  it('that died when the devices were out leaves nothing that names them when it is made again', async () => {
    const target = slotTarget({ space, slot, job: 2 });
    for (const died of [1, 2]) {
      await emptyDatabase(database.db);
      await open().merge(slotTarget({ space, slot, job: 1 }), onePart(range(0, 300)));
      let writes = 0;
      const dies = async () => {
        if (++writes > died) throw new Error('died');
      };
      const dying = open(aroundManifests(database.db, { after: dies }, collections.pages));
      await expect(dying.erase(target, range(100, 150))).rejects.toThrow('died');
      expect(await open().holders({ spaces: [space], slot }, range(100, 101))).toEqual([space]);
      const { total } = await open().erase(target, range(100, 150));
      expect([total, await isStored(120)]).toEqual([250, false]);
      expect(await open().holders({ spaces: [space], slot }, range(100, 101))).toEqual([]);
      expect(await checkEveryManifest(database.db)).toEqual([]);
    }
  });

  it('of one that was frozen brings back nothing that a later one has taken out of the same page', async () => {
    await open().merge(slotTarget({ space, slot, job: 1 }), onePart(range(0, 8)));
    const gate = createGate();
    let writes = 0;
    const frozen = open(
      aroundManifests(
        database.db,
        { before: async () => (++writes === 1 ? gate.wait() : undefined) },
        collections.pages,
      ),
    );
    const erasing = frozen.erase(slotTarget({ space, slot, job: 2 }), range(0, 2));
    await gate.reached;
    await open().erase(slotTarget({ space, slot, job: 2 }), range(0, 2));
    await open().erase(slotTarget({ space, slot, job: 3 }), range(2, 4));
    gate.open();
    await erasing;
    for (const number of numbers(0, 4)) expect(await isStored(number)).toBe(false);
    expect(await open().count(space)).toBe(4);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });
});
