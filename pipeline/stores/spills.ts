/**
 * Devices spilled by a sink until their job is merged, cut by address range, so that a merge reads each range once. The totals of a spill
 * are separate documents, written last: counting does not read devices, and an interrupted spill does not count. A batch may be in two
 * spills; it counts once.
 */
import { Binary, type Db, ObjectId } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { SpillDocument } from '../../schemas/stage-documents.ts';
import type { SlotTotal, ValidatedDevices } from '../../schemas/topics.ts';
import { cutByAddress, type InRange, RANGES } from '../formats/address-ranges.ts';
import type { DeviceHash } from '../formats/device-hash.ts';
import { packNumbers, unpackNumbers } from '../formats/number-table.ts';
import { countGroups } from '../formats/slot-totals.ts';
import { inGroups, inGroupsAsync, within } from '../runtime/in-groups.ts';
import { framedIn } from '../wire/framed-devices.ts';
import { removeInSteps } from './bulk.ts';

export type SpillStore = ReturnType<typeof createSpillStore>;

export interface Spill {
  job: number;
  slot: number;
  devices: ValidatedDevices[];
}

/** Totals of a spilled message. */
interface SpilledTotal extends Pick<ValidatedDevices, 'file' | 'batch' | 'part'> {
  total: SlotTotal;
}

const INSERTED_BYTES = 4_000_000;
const MAX_TOTALS = 20_000;
/** The `range` of documents that hold totals. */
const TOTALS = -1;

function totalOf({ file, batch, part, groups }: ValidatedDevices): number[] {
  const total = { pairs: 0, checksum: 0 };
  countGroups(total, groups);
  return [file, batch, part, total.pairs, total.checksum];
}

export function createSpillStore(db: Db) {
  const spills = db.collection<SpillDocument>(collections.spills);

  const insert = (documents: Omit<SpillDocument, '_id'>[]) =>
    spills.insertMany(
      documents.map((document) => ({
        _id: `${document.job}.${document.slot}.${new ObjectId().toHexString()}`,
        ...document,
      })),
      { ordered: false },
    );

  async function* cut(
    { job, slot, devices }: Spill,
    hash: DeviceHash,
  ): AsyncGenerator<Omit<SpillDocument, '_id'>> {
    for (const [range, pieces] of (await cutByAddress(devices, hash)).entries())
      for (const piece of pieces) yield { job, slot, range, messages: new Binary(piece) };
  }

  return {
    async save(spill: Spill, hash: DeviceHash): Promise<void> {
      const { job, slot, devices } = spill;
      const sized = within<{ messages: Binary }>({ bytes: INSERTED_BYTES }, ({ messages }) =>
        messages.length(),
      );
      for await (const group of inGroupsAsync(cut(spill, hash), sized)) await insert(group);
      const totals = inGroups(devices, within({ count: MAX_TOTALS }));
      await insert(
        [...totals].map((group) => ({
          job,
          slot,
          range: TOTALS,
          messages: new Binary(packNumbers(group.map(totalOf))),
          bytes: group.reduce((sum, { groups }) => sum + groups.length, 0),
        })),
      );
    },

    /** Jobs with spills in these slots. */
    jobsIn: (slots: number[]): Promise<number[]> => spills.distinct('job', { slot: { $in: slots } }),

    jobs: (): Promise<number[]> => spills.distinct('job'),

    /** Bytes spilled for the jobs, by slot. A job may have spilled terabytes: reads only the totals. */
    async sizes(jobs: number[], slots: number[]): Promise<Map<number, number>> {
      const sizes = await spills
        .aggregate<{ _id: number; bytes: number }>([
          { $match: { slot: { $in: slots }, job: { $in: jobs }, range: TOTALS } },
          { $group: { _id: '$slot', bytes: { $sum: '$bytes' } } },
        ])
        .toArray();
      return new Map(sizes.map(({ _id, bytes }) => [_id, bytes]));
    },

    async *totals(job: number, slot: number): AsyncGenerator<SpilledTotal> {
      for await (const { messages } of spills.find({ slot, job, range: TOTALS }).batchSize(2)) {
        for (const [file, batch, part, pairs, checksum] of unpackNumbers(messages.buffer, 5))
          yield { file: file!, batch: batch!, part: part!, total: { pairs: pairs!, checksum: checksum! } };
      }
    },

    /** The devices of ranges `from` to `to` (exclusive), with a document or two in memory at a time. */
    async *read(job: number, slot: number, from = 0, to = RANGES): AsyncGenerator<InRange> {
      const ranges = { $gte: from, $lt: to };
      for await (const { range, messages } of spills.find({ slot, job, range: ranges }).batchSize(2)) {
        const bytes = Buffer.from(messages.buffer.buffer, messages.buffer.byteOffset, messages.length());
        yield { range, messages: framedIn(bytes) };
      }
    },

    forget: (slots: number[], jobs: number[]) =>
      removeInSteps(spills, { slot: { $in: slots }, job: { $in: jobs } }, undefined, { pauses: false }),
    forgetAll: (jobs: number[]) => removeInSteps(spills, { job: { $in: jobs } }),
    forgetBefore: (job: number) => removeInSteps(spills, { job: { $lt: job } }),
  };
}
