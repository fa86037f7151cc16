/**
 * What each partner has loaded, by day (UTC) of acceptance. A document carries the last job that it includes: jobs end in their order, so
 * a job that is recorded again changes nothing. Deferred jobs end in the order of their space alone, and each space has a number.
 */
import type { AnyBulkWriteOperation, Db } from 'mongodb';
import type { UsageDocument } from '../../schemas/account-documents.ts';
import { collections, type JobDocument, spaces } from '../../schemas/documents.ts';

export type Usage = Pick<UsageDocument, 'job' | 'deferred' | 'jobs' | 'bytes' | 'rows'>;
interface LoadedJob {
  job: JobDocument;
  rows: number;
}

export type UsageStore = ReturnType<typeof createUsageStore>;

const none: Usage = { job: 0, jobs: 0, bytes: 0, rows: 0 };

export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);
/** Days of a partner stand side by side, in their order. */
const idOf = (partner: string, day: string) => `${partner}/${day}`;

type Counted = Pick<JobDocument, '_id' | 'audience' | 'deferred'>;
const laneOf = ({ audience }: Counted) => String(audience ?? spaces.marketplace);
/** Whether the usage includes the job. */
export const includes = (used: Usage, job: Counted): boolean =>
  job._id <= ((job.deferred ? used.deferred?.[laneOf(job)] : used.job) ?? 0);

export function createUsageStore(db: Db) {
  const usage = db.collection<UsageDocument>(collections.usage);
  type Operation = AnyBulkWriteOperation<UsageDocument>;

  /** So that an update finds it, or finds that it is later than its job. */
  const ensure = (_id: string): Operation => ({
    updateOne: { filter: { _id }, update: { $setOnInsert: none }, upsert: true },
  });
  const add = (_id: string, { job, rows }: LoadedJob): Operation => {
    const last = job.deferred ? `deferred.${laneOf(job)}` : 'job';
    return {
      updateOne: {
        filter: { _id, [last]: { $not: { $gte: job._id } } },
        update: {
          $inc: { jobs: 1, bytes: job.unpackedBytes ?? job.bytes ?? 0, rows },
          $set: { [last]: job._id },
        },
      },
    };
  };

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

    /** Of files that were read and not loaded. Gives the bytes of the day with these. */
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
        .project<Omit<UsageDocument, 'deferred'>>({ deferred: 0 })
        .toArray();
      return found.map(({ _id, ...rest }) => ({ day: _id.slice(idOf(partner, '').length), ...rest }));
    },
  };
}
