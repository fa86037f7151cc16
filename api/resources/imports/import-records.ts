/** Import log records as the specification defines them: a job as partners see it. */
import { type JobDocument, JobStatus, LogType } from '../../../schemas/documents.ts';
import type { ApiStores } from '../../stores/api-stores.ts';

export const shown = {
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

export const findImportLog = ({ jobs }: ApiStores, partner: string, id: number) =>
  jobs.findImportLog(partner, id, { ...shown, listing: 1, phase: 1, rejected: 1 });
