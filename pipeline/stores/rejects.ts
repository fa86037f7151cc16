/** Rejected rows, stored for the API up to a limit per file; the rest are only counted. */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { RejectsDocument } from '../../schemas/stage-documents.ts';
import { removeInSteps } from './bulk.ts';

export type RejectStore = ReturnType<typeof createRejectStore>;

export function createRejectStore(db: Db) {
  const rejects = db.collection<RejectsDocument>(collections.rejects);

  return {
    /** Stores as many of the rows as the file's limit allows, and returns those. Idempotent by batch. */
    async keep(entry: Omit<RejectsDocument, '_id'>, perFile: number): Promise<RejectsDocument['rows']> {
      const { job, file, batch } = entry;
      const [others] = await rejects
        .aggregate<{ rows: number }>([
          { $match: { job, file, batch: { $ne: batch } } },
          { $group: { _id: null, rows: { $sum: { $size: '$rows' } } } },
        ])
        .toArray();
      const rows = entry.rows.slice(0, Math.max(0, perFile - (others?.rows ?? 0)));
      if (rows.length > 0) {
        const _id = `${job}.${file}.${batch}`;
        await rejects.updateOne({ _id }, { $setOnInsert: { ...entry, rows } }, { upsert: true });
      }
      return rows;
    },

    removeOf: (jobs: number[], signal: AbortSignal) => removeInSteps(rejects, { job: { $in: jobs } }, signal),

    /** In the order of files and batches. */
    ofJob: (job: number) => rejects.find({ job }).sort({ file: 1, batch: 1 }),
  };
}
