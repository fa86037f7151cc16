/** Import log records as the specification has them: a job, seen from outside. */
import type { Db, Filter } from 'mongodb';
import { collections, type JobDocument, JobStatus, LogType } from '../../schemas/documents.ts';

const LISTED = 100;
const shown = {
  kind: 1,
  filePath: 1,
  pathType: 1,
  keyType: 1,
  status: 1,
  keys: 1,
  uniqueDevices: 1,
  rows: 1,
  errors: 1,
  createdAt: 1,
  updatedAt: 1,
} as const;
export type ShownJob = Pick<JobDocument, '_id' | keyof typeof shown>;

/** Jobs that are import logs. A withdrawn one was never accepted: nobody sees it. */
export const importLogs = (partner: string): Filter<JobDocument> => ({
  partner,
  kind: { $in: ['import', 'delete'] },
  phase: { $ne: 'withdrawn' },
});

export const toImportLog = (job: ShownJob) => ({
  import_log_id: job._id,
  file_path: job.filePath,
  path_type: job.pathType,
  key_type: job.keyType ?? 0,
  status: job.status,
  log_type: job.kind === 'delete' ? LogType.deletion : LogType.import,
  keys: job.kind === 'delete' ? (job.keys ?? []) : null,
  unique_devices: String(job.uniqueDevices),
  total_rows: String(job.rows),
  errors: job.status === JobStatus.error ? (job.errors ?? []) : null,
  created_at: job.createdAt,
  updated_at: job.updatedAt,
});

/** The last hundred, newest first, as the bytes that MongoDB sent. */
export const listImportLogs = (db: Db, partner: string): Promise<Uint8Array[]> =>
  db
    .collection<JobDocument>(collections.jobs)
    .find<Uint8Array>(importLogs(partner), { projection: shown, batchSize: LISTED + 1, raw: true })
    .sort({ _id: -1 })
    .limit(LISTED)
    .toArray();

export const findImportLog = (db: Db, partner: string, id: number) =>
  db
    .collection<JobDocument>(collections.jobs)
    .findOne<ShownJob & Pick<JobDocument, 'listing' | 'phase'>>(
      { _id: id, ...importLogs(partner) },
      { projection: { ...shown, listing: 1, phase: 1 } },
    );
