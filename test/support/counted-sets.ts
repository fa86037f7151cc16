/** Device sets whose devices a test can count. */
import type { Db } from 'mongodb';
import { createDeviceSets, type DeviceSetsOptions } from '../../pipeline/sets/device-sets.ts';
import { manifestCollection } from '../../pipeline/sets/manifests.ts';

export type CountedSets = ReturnType<typeof createCountedSets>;

export function createCountedSets(db: Db, options: DeviceSetsOptions = {}) {
  async function counts(sets: string[]): Promise<Map<string, number>> {
    const sums = new Map(sets.map((set) => [set, 0]));
    const cursor = manifestCollection(db).aggregate<{ _id: string; count: number }>([
      { $match: { set: { $in: [...sums.keys()] }, count: { $gt: 0 } } },
      { $group: { _id: '$set', count: { $sum: '$count' } } },
    ]);
    for await (const { _id, count } of cursor) sums.set(_id, count);
    return sums;
  }
  return {
    ...createDeviceSets(db, options),
    counts,
    /** Devices of a set over all slots. */
    count: async (set: string) => (await counts([set])).get(set) ?? 0,
  };
}
