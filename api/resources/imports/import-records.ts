/** Import log records as the specification defines them: a job as partners see it. */
import { importLog } from '../../../schemas/http-answers.ts';
import { type JobDocument, JobStatus, LogType } from '../../../schemas/job-documents.ts';
import { exampleOf } from '../../http/responses.ts';
import type { ApiStores } from '../../stores/api-stores.ts';

export const shown = {
  kind: 1,
  filePath: 1,
  prefixMatches: 1,
  pathType: 1,
  keyType: 1,
  status: 1,
  keys: 1,
  uniqueDevices: 1,
  rows: 1,
  rejected: 1,
  suppressed: 1,
  errors: 1,
  createdAt: 1,
  updatedAt: 1,
} as const;
export type ShownJob = Pick<JobDocument, '_id' | keyof typeof shown>;

export const toImportLog = (job: ShownJob) => ({
  import_log_id: job._id,
  file_path: job.filePath,
  prefix_matches: job.prefixMatches ?? [],
  path_type: job.pathType,
  key_type: job.keyType ?? 0,
  status: job.status,
  log_type: job.kind === 'delete' ? LogType.deletion : LogType.import,
  keys: job.kind === 'delete' ? (job.keys ?? []) : null,
  unique_devices: String(job.uniqueDevices),
  total_rows: String(job.rows),
  rows_rejected: job.status >= JobStatus.done ? (job.rejected ?? {}) : null,
  suppressed: job.status >= JobStatus.done ? (job.suppressed ?? 0) : null,
  errors: job.status === JobStatus.error ? (job.errors ?? []) : null,
  created_at: job.createdAt,
  updated_at: job.updatedAt,
});

export const findImportLog = ({ jobs }: ApiStores, partner: string, id: number) =>
  jobs.findImportLog(partner, id, { ...shown, listing: 1, phase: 1 });

/** Examples in the OpenAPI document. */
export const doneLog = exampleOf(importLog);
export const failedLog = {
  ...doneLog,
  import_log_id: 44,
  file_path: 'day=2026-06-02/',
  status: 3,
  rows_rejected: { bad_identifier: 940 },
  errors: [
    {
      code: 'too_many_invalid',
      message: 'The share of invalid rows is above the limit.',
      file: 'p-tt6hkz9rv7bs/day=2026-06-02/2.csv',
      count: 940,
    },
  ],
};
export const deletionLog = {
  ...doneLog,
  import_log_id: 43,
  file_path: '',
  log_type: 1,
  keys: ['17', '18'],
  unique_devices: '12000',
  total_rows: '15000',
  rows_rejected: {},
};
