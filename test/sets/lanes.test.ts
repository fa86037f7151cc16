/** Jobs of several partners change the marketplace in any order of their numbers: each is merged once, whichever owner repeats it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { spaces } from '../../schemas/documents.ts';
import { slotTarget } from '../support/slot-target.ts';
import { aroundManifests, checkEveryManifest, emptyDatabase, manifestsOf, openDatabase } from './database.ts';
import { fromHex, keyed, numberedDevice, numberedDevices, onePart, toPlain } from './devices.ts';

const database = openDatabase();
const tiny = { pageBytes: 128, regionBytes: 1_024, levelRatio: 3 };
const target = { space: spaces.marketplace, slot: 5 };
const open = (db = database.db) => createDeviceSets(db, { layout: tiny });
const devices = (from: number, to: number, key: number) => keyed({ devices: numberedDevices(from, to), key });

beforeEach(async () => {
  await emptyDatabase(database.db);
  await ensureIndexes(database.db);
});

function createRandom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

async function stored(): Promise<Map<string, number[]>> {
  const found = new Map<string, number[]>();
  for await (const part of open().read(target.space, target.slot))
    for (const [device, keys] of toPlain(part)) found.set(device, keys);
  return found;
}

interface Job {
  job: number;
  partner: string;
  /** An attribute; it belongs to the job's partner. */
  key: number;
  /** Undefined: the job deletes the key. */
  devices?: Set<string>;
}

it.each([1, 2])(
  'imports and deletions of three partners, out of order and repeated (seed %i)',
  async (seed) => {
    const random = createRandom(seed);
    const jobs = Array.from({ length: 60 }, (_, i): Job => {
      const owner = random(3);
      const job = { job: i + 1, partner: `p-${owner}`, key: 1 + 3 * random(2) + owner };
      const size = random(3) === 0 ? 200 : 15;
      const some = Array.from({ length: random(size) + 1 }, () => numberedDevice(random(600)));
      return random(4) === 0 ? job : { ...job, devices: new Set(some) };
    });
    const lanes = [0, 1, 2].map((owner) => jobs.filter(({ partner }) => partner === `p-${owner}`));
    const ended = new Set<number>();
    const endedBefore = () => jobs.find(({ job }) => !ended.has(job))?.job ?? jobs.length + 1;
    const owners = [open(), open()];
    const model = new Map<string, Set<number>>();

    /** Applies the job to the model. Returns the number of pairs that it adds or removes. */
    function expected({ key, devices: added }: Job): number {
      const isChanged = (device: string) => Boolean(model.get(device)?.has(key)) === !added;
      const changed = [...(added ?? model.keys())].filter(isChanged);
      for (const device of changed) {
        const keys = model.get(device) ?? new Set();
        if (added) model.set(device, keys.add(key));
        else if (keys.delete(key) && keys.size === 0) model.delete(device);
      }
      return changed.length;
    }

    /** The merge as a sink would do it now, and repeat later if it does not know that it was replaced. */
    function mergeOf({ job, partner, key, devices: added }: Job) {
      const wanted = { ...slotTarget({ ...target, job, partner, endedBefore: endedBefore() }), isOpen };
      return (sets: (typeof owners)[number]) =>
        added
          ? sets.merge(wanted, onePart(keyed({ devices: fromHex(added), key })))
          : sets.removeKeys(wanted, new Set([key]));
    }
    const isOpen = (job: number) => !ended.has(job);

    const earlier: ReturnType<typeof mergeOf>[] = [];
    const waiting: Job[] = [];
    while (lanes.some((lane) => lane.length > 0)) {
      // One job from some of the lanes: two owners merge them concurrently, each in its own order.
      const next = lanes.flatMap((lane) => (random(2) === 0 ? lane.splice(0, 1) : []));
      const pairs = next.map(expected);
      const merges = next.map(mergeOf);
      await Promise.all([
        ...merges.map((again) => again(owners[0]!)),
        ...merges.toReversed().map((again) => again(owners[1]!)),
        ...(earlier.length > 0 ? [earlier[random(earlier.length)]!(owners[random(2)]!)] : []),
      ]);
      for (const [i, again] of merges.entries()) {
        const { total, changes } = await again(owners[random(2)]!);
        const found = changes.filter(({ job }) => job === next[i]!.job);
        const counted = found.flatMap((change) => [...change.pairs.values()]);
        expect([total, counted.reduce((sum, count) => sum + count, 0)]).toEqual([model.size, pairs[i]]);
        expect(found.length).toBeLessThanOrEqual(1);
      }
      earlier.push(...merges);
      waiting.push(...next);
      for (let n = random(4); n > 0 && waiting.length > 0; n--)
        ended.add(waiting.splice(random(waiting.length), 1)[0]!.job);
    }
    for (const again of earlier) await again(owners[random(2)]!);
    const asLists = [...model].map(([device, keys]) => [device, [...keys].sort((a, b) => a - b)] as const);
    expect(await stored()).toEqual(new Map(asLists));
    expect(await open().count(target.space)).toBe(model.size);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  },
);

it('a job that all jobs before have ended is known to be merged, and its partner is forgotten', async () => {
  const sets = open();
  const first = slotTarget({ ...target, job: 2, partner: 'p' });
  await sets.merge(slotTarget({ ...target, job: 3, partner: 'q' }), onePart(devices(0, 10, 2)));
  await sets.merge(first, onePart(devices(0, 10, 1)));
  await sets.merge(
    slotTarget({ ...target, job: 6, partner: 'q', endedBefore: 4 }),
    onePart(devices(5, 20, 2)),
  );
  expect(await manifestsOf(database.db).findOne()).toMatchObject({
    merged: [{ partner: 'q', job: 6 }],
    endedBefore: 4,
    changes: [{ job: 6 }],
  });
  expect(await open().merge(first, onePart(devices(50, 60, 1)))).toMatchObject({ total: 20 });
  // Merged although the slot already has a later job of another partner.
  const next = slotTarget({ ...target, job: 5, partner: 'p', endedBefore: 4 });
  const { total, changes } = await open().merge(next, onePart(devices(15, 30, 1)));
  expect([total, changes.find(({ job }) => job === 5)]).toMatchObject([30, { devices: 10 }]);
});

it('the pairs of several jobs that are merged together are told by job, whoever asks again', async () => {
  const jobs = [
    { job: 2, partner: 'p' },
    { job: 3, partner: 'q' },
    { job: 4, partner: 'p' },
  ];
  const jobOf = (key: number) => new Map([[1, 2]]).get(key) ?? (key === 7 ? 3 : 4);
  const firstJobOf = (key: number) => (key === 2 ? 2 : jobOf(key));
  const together = { ...slotTarget({ ...target, job: 4, since: 1 }), jobs, jobOf, firstJobOf };
  const brought = keyed(
    { devices: numberedDevices(0, 10), key: 1 },
    { devices: numberedDevices(5, 25), key: 7 },
    { devices: numberedDevices(0, 40), key: 2 },
  );
  for (const sets of [open(), open()]) {
    const { total, changes } = await sets.merge(together, onePart(brought));
    const pairs = new Map(changes.map((change) => [change.job, [...change.pairs]]));
    expect([total, pairs, changes.length]).toEqual([
      40,
      new Map([
        [
          2,
          [
            [1, 10],
            [2, 0],
          ],
        ],
        [3, [[7, 20]]],
        [4, [[2, 40]]],
      ]),
      3,
    ]);
  }
  expect(await open().merge({ ...together, jobs: jobs.slice(0, 1) }, onePart(brought))).toMatchObject({
    total: 40,
  });
});

it('one of several jobs that were to be merged together was dropped: they are refused together', async () => {
  const jobs = [2, 3].map((job) => ({ job, partner: 'p' }));
  await open().drop(slotTarget({ ...target, job: 2 }));
  const together = { ...slotTarget({ ...target, job: 3, since: 1 }), jobs };
  await expect(open().merge(together, onePart(devices(0, 10, 1)))).rejects.toThrow(
    'already merged or dropped',
  );
  // Another partner's job is not affected.
  const other = slotTarget({ ...target, job: 1, partner: 'q' });
  expect(await open().merge(other, onePart(devices(0, 10, 7)))).toMatchObject({ total: 10 });
});

describe('a deletion takes several edits', () => {
  const deletion = slotTarget({ ...target, job: 10, since: 1 });
  const remove = (sets = open()) => sets.removeKeys(deletion, new Set([1]));
  const bring = (job: Parameters<ReturnType<typeof open>['merge']>[0]) =>
    open().merge(job, onePart(devices(0, 500, 1)));
  /** 500 devices with key 1, every other of them with key 2 of another partner. Job 9 changes nothing, and is not recorded. */
  async function fill(): Promise<void> {
    for (const job of [5, 9]) await bring(slotTarget({ ...target, job }));
    const others = Array.from({ length: 250 }, (_, n) => numberedDevice(2 * n));
    await open().merge(
      slotTarget({ ...target, job: 6, partner: 'q' }),
      onePart(keyed({ devices: fromHex(others), key: 2 })),
    );
  }
  /** Removes a key from some of the regions, then dies. */
  async function removeSome(edits: number, from = deletion, key = 1): Promise<void> {
    let left = edits;
    const before = async () => {
      if (left-- === 0) throw new Error('died');
    };
    const dying = open(aroundManifests(database.db, { before }));
    await expect(dying.removeKeys(from, new Set([key]))).rejects.toThrow('died');
  }
  const withKey = async (key: number) => [...(await stored()).values()].filter((keys) => keys.includes(key));
  const ofDeletion = ({ changes }: Awaited<ReturnType<typeof remove>>) =>
    changes.find(({ job }) => job === deletion.jobs[0]!.job);

  it('other edits of the slot do not wait for all of them', async () => {
    await fill();
    const sets = open();
    const order: string[] = [];
    const deleting = remove(sets).then(() => order.push('deleted'));
    const import7 = slotTarget({ ...target, job: 7, partner: 'q' });
    await sets.merge(import7, onePart(devices(0, 20, 3)));
    order.push('merged');
    await deleting;
    expect(order).toEqual(['merged', 'deleted']);
    expect((await withKey(3)).length).toBe(20);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });

  it.each([1, 2, 7])(
    'after a crash behind %i of them, the next owner does the rest and counts all',
    async (edits) => {
      await fill();
      await removeSome(edits);
      const left = (await withKey(1)).length;
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThan(500);
      // A zombie brings nothing back, and other partners are not affected.
      await bring(slotTarget({ ...target, job: 9 }));
      expect((await withKey(1)).length).toBe(left);
      await open().merge(slotTarget({ ...target, job: 7, partner: 'q' }), onePart(devices(400, 600, 3)));
      for (const again of [1, 2]) {
        const edited = await remove();
        const counted = { devices: 500, pairs: new Map([[1, 500]]) };
        expect([edited.total, ofDeletion(edited)], `call ${again}`).toMatchObject([400, counted]);
      }
      expect([await withKey(1), (await withKey(2)).length, (await withKey(3)).length]).toEqual([
        [],
        250,
        200,
      ]);
      // Pages of the edit that died are swept later.
      await checkEveryManifest(database.db);
    },
  );

  it('two deletions that both were interrupted count their own', async () => {
    await fill();
    await removeSome(2);
    const other = slotTarget({ ...target, job: 8, partner: 'q', since: 1 });
    await removeSome(3, other, 2);
    const [own, others] = [await remove(), await open().removeKeys(other, new Set([2]))];
    expect(ofDeletion(own)).toMatchObject({ devices: 500 });
    expect(others.changes.find(({ job }) => job === 8)).toMatchObject({ devices: 250 });
    expect((await stored()).size).toBe(0);
  });

  it('dropped after some of them: what they removed is counted, and no more is removed', async () => {
    await fill();
    await removeSome(3);
    const left = (await withKey(1)).length;
    const removed = { devices: 500 - left, pairs: new Map([[1, 500 - left]]), dropped: true };
    expect(ofDeletion(await open().drop(deletion))).toMatchObject(removed);
    expect(ofDeletion(await remove())).toMatchObject(removed);
    expect((await withKey(1)).length).toBe(left);
    // Pages of the edit that died are swept later.
    await checkEveryManifest(database.db);
  });
});
