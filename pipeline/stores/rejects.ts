/** Rejected rows, stored up to a limit per file; further ones are only counted. */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { RejectsDocument } from '../../schemas/stage-documents.ts';
import { ERASED, rowsWith } from '../formats/find-identifiers.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { removeInSteps } from './bulk.ts';
import { createJobStore } from './jobs/jobs.ts';

const HASHES_AT_ONCE = 1_000;

export type RejectStore = ReturnType<typeof createRejectStore>;

export function createRejectStore(db: Db) {
  const rejects = db.collection<RejectsDocument>(collections.rejects);
  const jobs = createJobStore(db);
  const isOf = async (job: number, partner: string | undefined) =>
    partner === undefined || (await jobs.findShown(job, { partner: 1 }))?.partner === partner;

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

    /** Blanks rows with such identifiers, of one partner or of all. Updates single rows, because slots do so concurrently. */
    async erase(
      hashes: number[],
      isErased: (identifier: string) => boolean,
      partner: string | undefined,
    ): Promise<void> {
      for (const group of inGroups(hashes, within({ count: HASHES_AT_ONCE })))
        for await (const { _id, job, rows } of rejects.find({ hashes: { $in: group } })) {
          const erased = rowsWith(rows, isErased).map((n) => [`rows.${n}.raw`, ERASED]);
          if (erased.length === 0 || !(await isOf(job, partner))) continue;
          await rejects.updateOne({ _id }, { $set: Object.fromEntries(erased) });
        }
    },

    removeOf: (ids: number[], signal: AbortSignal) => removeInSteps(rejects, { job: { $in: ids } }, signal),

    /** Ordered by file and batch. */
    ofJob: (job: number) => rejects.find({ job }).sort({ file: 1, batch: 1 }),
  };
}
