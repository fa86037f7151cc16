/** Acks: what each slot counted when it merged a job; and the last job that each slot has merged. */
import type { AnyBulkWriteOperation, Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { AckDocument, SlotDocument } from '../../schemas/stage-documents.ts';
import { groupBy } from '../runtime/group-by.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { removeInSteps } from './remove-in-steps.ts';

export type AckStore = ReturnType<typeof createAckStore>;
export type Ack = Omit<AckDocument, '_id'>;

export function createAckStore(db: Db) {
  const acks = db.collection<AckDocument>(collections.acks);
  const slots = db.collection<SlotDocument>(collections.acks);
  const slotId = (slot: number) => `slot ${slot}`;

  /** The first write wins: a merge that is repeated after a crash may count less than the first one did. */
  const acknowledge = (entry: Ack) => ({
    updateOne: {
      filter: { _id: `${entry.job}.${entry.slot}` },
      update: { $setOnInsert: entry },
      upsert: true,
    },
  });
  const advance = (slot: number, job: number) => ({
    updateOne: { filter: { _id: slotId(slot) }, update: { $max: { committedJob: job } }, upsert: true },
  });
  type Write = AnyBulkWriteOperation<AckDocument>;

  return {
    /** One ordered write, acks first: a slot that has advanced past a job is never asked for it again. */
    recordAndAdvance: groupCommit(async (runs: Ack[][]) => {
      const entries = runs.flat();
      const last = new Map<number, number>();
      for (const { slot, job } of entries) last.set(slot, Math.max(job, last.get(slot) ?? 0));
      const advances = [...last].map(([slot, job]) => advance(slot, job) as Write);
      await acks.bulkWrite([...entries.map(acknowledge), ...advances], { ordered: true });
    }),

    async countByJob(jobs: number[]): Promise<Map<number, number>> {
      if (jobs.length === 0) return new Map();
      const counts = await acks
        .aggregate<{ _id: number; slots: number }>([
          { $match: { job: { $in: jobs } } },
          { $group: { _id: '$job', slots: { $sum: 1 } } },
        ])
        .toArray();
      return new Map(counts.map(({ _id, slots }) => [_id, slots]));
    },

    ofJob: groupCommit(async (jobs: number[]): Promise<AckDocument[][]> => {
      const found = await acks.find({ job: { $in: jobs } }).toArray();
      const byJob = groupBy(found, ({ job }) => job);
      return jobs.map((job) => byJob.get(job) ?? []);
    }),
    forget: (jobs: number[]) => acks.deleteMany({ job: { $in: jobs } }),
    forgetBefore: (job: number) => removeInSteps(acks, { job: { $lt: job } }),

    /** The last job that each of the slots has merged. */
    committedJobs: groupCommit(async (groups: number[][]): Promise<Map<number, number>[]> => {
      const ids = [...new Set(groups.flat())].map(slotId);
      const found = await slots.find({ _id: { $in: ids } }).toArray();
      const jobs = new Map(found.map(({ _id, committedJob }) => [_id, committedJob]));
      return groups.map((group) => new Map(group.map((slot) => [slot, jobs.get(slotId(slot)) ?? 0])));
    }),
  };
}
