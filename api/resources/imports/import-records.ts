/** Import log records as the specification defines them: a job as partners see it. */
import { type JobDocument, JobStatus, LogType } from '../../../schemas/job-documents.ts';
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
export const doneLog = {
  import_log_id: 42,
  file_path: 'day=2026-06-01/devices.csv',
  prefix_matches: [] as string[],
  path_type: 0,
  key_type: 0,
  status: 2,
  log_type: 0,
  keys: null,
  unique_devices: '16000',
  total_rows: '20000',
  rows_rejected: { bad_identifier: 8, opted_out: 2 },
  suppressed: 0,
  errors: null,
  created_at: '2026-06-01T08:30:00.000Z',
  updated_at: '2026-06-01T08:31:12.000Z',
};
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
