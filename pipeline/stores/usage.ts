/**
 * Daily usage of each partner, by day (UTC) of acceptance. A document carries the last job it includes. A partner's jobs end in order, so
 * recording a job again changes nothing.
 */
import type { AnyBulkWriteOperation, Db } from 'mongodb';
import type { UsageDocument } from '../../schemas/account-documents.ts';
import { collections } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';

export type Usage = Omit<UsageDocument, '_id'>;
interface LoadedJob {
  job: JobDocument;
  rows: number;
}

export type UsageStore = ReturnType<typeof createUsageStore>;

const none: Usage = { job: 0, jobs: 0, bytes: 0, rows: 0 };

export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);
/** The days of a partner are a range of ids, in order. */
const idOf = (partner: string, day: string) => `${partner}/${day}`;

export function createUsageStore(db: Db) {
  const usage = db.collection<UsageDocument>(collections.usage);
  type Operation = AnyBulkWriteOperation<UsageDocument>;

  /** An update must be able to tell a missing document from one that already includes the job. */
  const ensure = (_id: string): Operation => ({
    updateOne: { filter: { _id }, update: { $setOnInsert: none }, upsert: true },
  });
  const add = (_id: string, { job, rows }: LoadedJob): Operation => ({
    updateOne: {
      filter: { _id, job: { $lt: job._id } },
      update: {
        $inc: { jobs: 1, bytes: job.unpackedBytes ?? job.bytes ?? 0, rows },
        $set: { job: job._id },
      },
    },
  });

  return {
    /** One write, in the order given. */
    async record(loaded: LoadedJob[]): Promise<void> {
      const changes = loaded.map((each) => ({
        _id: idOf(each.job.partner, dayOf(each.job.createdAt)),
        each,
      }));
      const touched = new Set(changes.map(({ _id }) => _id));
      if (touched.size > 0)
        await usage.bulkWrite(
          [...[...touched].map(ensure), ...changes.map(({ _id, each }) => add(_id, each))],
          {
            ordered: true,
          },
        );
    },

    /** Adds bytes that were read but not loaded. Returns the bytes of the day. */
    async addBytes(partner: string, day: string, bytes: number): Promise<number> {
      const { bytes: _, ...rest } = none;
      const added = await usage.findOneAndUpdate(
        { _id: idOf(partner, day) },
        { $inc: { bytes }, $setOnInsert: rest },
        { upsert: true, returnDocument: 'after' },
      );
      return added!.bytes;
    },

    of: async (partner: string, day: string): Promise<Usage> =>
      (await usage.findOne({ _id: idOf(partner, day) })) ?? none,

    /** The last days on which something was loaded, newest first. */
    async list(partner: string, limit: number): Promise<({ day: string } & Usage)[]> {
      const found = await usage
        .find({ _id: { $gt: idOf(partner, ''), $lt: idOf(partner, ':') } })
        .sort({ _id: -1 })
        .limit(limit)
        .toArray();
      return found.map(({ _id, ...rest }) => ({ day: _id.slice(idOf(partner, '').length), ...rest }));
    },
  };
}
