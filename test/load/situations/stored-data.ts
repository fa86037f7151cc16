/** Partner A's work on stored data: a deletion of many keys, and a composition report. */
import { collections, spaces } from '../../../schemas/documents.ts';
import { checkCount, checkSpace } from '../check-counts.ts';
import { count } from '../format.ts';
import { storeMarketplace } from '../full-marketplace.ts';
import { storeAttributes, storeAudience } from '../store-space.ts';
import { repeated, type Situation } from './situation.ts';

/** Per deletion: the maximum of a request. */
const KEYS = 1_000;
const DELETIONS_BESIDE = 6;
const DELETIONS = DELETIONS_BESIDE + 2;

/** Every device has two keys of each deletion and one that stays, so that all deletions do the same work. */
export const deletion: Situation = {
  name: 'deletion',
  /** Devices. */
  size: 1_000_000,
  describe: (size) => `deletions of ${count(KEYS)} keys from ${count(size)} devices`,
  hasSpeed: true,
  async prepare({ bench, size, seed }) {
    const { stack, signal } = bench;
    const half = Math.ceil(size / (KEYS + 1));
    const devices = (KEYS + 1) * half;
    const kept = await stack.attributes(1);
    const deletions: number[][] = [];
    for (let i = 0; i < DELETIONS; i++) deletions.push(await stack.attributes(KEYS));
    await storeAttributes(bench, {
      seed,
      numbers: devices,
      keys: [
        { key: kept[0]!, ranges: [[0, devices]] },
        ...deletions.flatMap((keys) =>
          keys.map((key, i) => ({ key, ranges: [[i * half, (i + 2) * half] as const] })),
        ),
      ],
    });
    return repeated(
      async (number) => {
        const keys = deletions[number]!.map(String);
        const { record, seconds } = await stack.calls.deleteKeys(keys, { everyMs: 20, signal });
        const checks = [
          checkCount(`devices of deletion ${number}`, devices, record.unique_devices),
          checkCount(`pairs of deletion ${number}`, 2 * half * KEYS, record.total_rows),
        ];
        return { seconds, checks };
      },
      {
        maxRuns: DELETIONS_BESIDE,
        check: async (others) => [await checkSpace(stack.db, spaces.marketplace, devices + others)],
      },
    );
  },
};

const ATTRIBUTES = 1_000;
/** Each attribute has one in this many of the audience's devices. */
const DEVICES_PER_ATTRIBUTE = 10;

export const report: Situation = {
  name: 'report',
  /** Devices of the audience. */
  size: 300_000,
  describe: (size) => `composition reports of ${count(size)} devices over ${count(ATTRIBUTES)} attributes`,
  hasSpeed: true,
  async prepare({ bench, size, seed }) {
    const { stack, signal } = bench;
    const audience = await storeAudience(bench, seed, size);
    const shared = Math.round(size * 0.8);
    const { attributes, common } = await storeMarketplace(bench, {
      attributes: ATTRIBUTES,
      attributeDevices: Math.ceil(size / DEVICES_PER_ATTRIBUTE),
      shared,
      apart: size,
      seed,
    });
    return repeated(async (number) => {
      await stack.db.collection(collections.compositions).deleteMany({});
      const { report, seconds } = await stack.calls.compose(audience, { everyMs: 50, signal });
      const found = report.attributes as { devices: number }[];
      const checks = [
        checkCount(`unique devices of report ${number}`, size, report.unique_devices),
        checkCount(`matched devices of report ${number}`, shared, report.matched_devices),
        checkCount(
          `attributes of report ${number} with ${common} devices`,
          attributes.length,
          found.filter(({ devices }) => devices === common).length,
        ),
      ];
      return { seconds, checks };
    });
  },
};
