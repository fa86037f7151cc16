/** The files of an audience over all of its loads: the newest entry of each path counts. Part of the store of files. */
import type { Collection } from 'mongodb';
import type { RejectCode } from '../../schemas/codes.ts';
import { collections } from '../../schemas/documents.ts';
import { type FileDocument, type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import { READ_AT_ONCE } from './mongo.ts';

const entryShown = { _id: 0, job: 1, listing: 1, path: 1, status: 1, accepted: 1, updatedAt: 1 } as const;
/** The fields of a file that its job or audience shows. Decoding further fields would double the cost of a long list. */
export const fileShown = {
  ...entryShown,
  rows: 1,
  duplicates: 1,
  suppressed: 1,
  rejected: 1,
  failure: 1,
} as const;
export type ShownEntry = Pick<FileDocument, Exclude<keyof typeof entryShown, '_id'>>;
export type ShownFile = Pick<FileDocument, Exclude<keyof typeof fileShown, '_id'>>;

/** Changes by a load to the files of its audience. */
interface UploadChange {
  uploaded: number;
  failed: number;
  rejected: FileDocument['rejected'];
}

type Entry = Pick<FileDocument, 'status' | 'accepted' | 'rejected'>;
const entryFields = { _id: 0, status: 1, accepted: 1, rejected: 1 };
const decided = { $in: [JobStatus.done, JobStatus.error] };

export function createAudienceFiles(files: Collection<FileDocument>) {
  const byPath = (audience: number, generation: number) =>
    files.find({ audience, generation }, { batchSize: READ_AT_ONCE }).sort({ path: 1 });

  return {
    /** Files of all listings, ordered by path. */
    ofAudience: (audience: number, generation: number) =>
      byPath(audience, generation).project<ShownFile>(fileShown),
    /** The same, with fewer fields. */
    entriesOfAudience: (audience: number, generation: number) =>
      byPath(audience, generation).project<ShownEntry>(entryShown),

    /** Those of the identities that the audience has loaded. */
    async loadedAmong(audience: number, generation: number, identities: string[]): Promise<Set<string>> {
      const loaded = await files
        .find({ audience, generation, identity: { $in: identities }, status: JobStatus.done })
        .project<{ identity: string }>({ _id: 0, identity: 1 })
        .toArray();
      return new Set(loaded.map(({ identity }) => identity));
    },

    /**
     * How a load changes accepted and rejected rows and failed files of its audience, where the newest entry of each path counts. The
     * cost depends on the size of the load, not on what was loaded before.
     */
    async changeBy({ _id, listing, audience, generation }: JobDocument): Promise<UploadChange> {
      const change: UploadChange = { uploaded: 0, failed: 0, rejected: {} };
      const add = ({ status, accepted, rejected }: Entry, sign: 1 | -1) => {
        if (status === JobStatus.done) change.uploaded += sign * accepted;
        else change.failed += sign;
        for (const [code, rows] of Object.entries(rejected) as [RejectCode, number][])
          change.rejected[code] = (change.rejected[code] ?? 0) + sign * rows;
      };
      if (listing === undefined) return change;
      const own = files.aggregate<Entry & { before: Entry[] }>(
        [
          { $match: { job: _id, listing, status: decided } },
          {
            $lookup: {
              from: collections.files,
              localField: 'path',
              foreignField: 'path',
              pipeline: [
                { $match: { audience, generation, job: { $lt: _id }, status: decided } },
                { $sort: { job: -1 } },
                { $limit: 1 },
                { $project: entryFields },
              ],
              as: 'before',
            },
          },
          { $project: { ...entryFields, before: 1 } },
        ],
        { batchSize: READ_AT_ONCE },
      );
      for await (const entry of own) {
        add(entry, 1);
        for (const replaced of entry.before) add(replaced, -1);
      }
      return change;
    },

    /** Accepted rows by event, over the newest entry of each path among the loads up to this one. */
    rowsByEvent: (audience: number, generation: number, upToJob: number) =>
      files.aggregate<{ event: string; rows: number }>(
        [
          {
            $match: {
              audience,
              generation,
              job: { $lte: upToJob },
              status: { $in: [JobStatus.done, JobStatus.error] },
            },
          },
          { $sort: { path: 1, job: -1 } },
          { $group: { _id: '$path', events: { $first: '$events' }, status: { $first: '$status' } } },
          { $match: { status: JobStatus.done } },
          { $unwind: '$events' },
          { $group: { _id: '$events.event', rows: { $sum: '$events.rows' } } },
          { $project: { _id: 0, event: '$_id', rows: 1 } },
        ],
        { allowDiskUse: true },
      ),
  };
}
