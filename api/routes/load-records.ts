/** Loads of an audience as partners see them. An addition to the specification: it explains why a load failed. */
import { fileFailureCodes } from '../../schemas/codes.ts';
import {
  type AudienceDocument,
  type JobDocument,
  type JobPhase,
  JobStatus,
} from '../../schemas/documents.ts';

export const shownOfLoad = {
  generation: 1,
  filePath: 1,
  phase: 1,
  status: 1,
  listing: 1,
  fileCount: 1,
  filesDone: 1,
  rows: 1,
  uniqueDevices: 1,
  errors: 1,
  createdAt: 1,
  updatedAt: 1,
} as const;
export type ShownLoad = Pick<JobDocument, '_id' | keyof typeof shownOfLoad>;

/** A clear takes effect at once, although dispatch reaches the cancelled load only in job order. */
const cancellable: JobPhase[] = ['accepted', 'loading'];
const cancelled = { code: 'cancelled', message: fileFailureCodes.cancelled };

export function toLoad(load: ShownLoad, { generation }: AudienceDocument) {
  const isCancelled = load.generation! < generation && cancellable.includes(load.phase);
  const status = isCancelled ? JobStatus.error : load.status;
  const errors = isCancelled ? [cancelled] : (load.errors ?? []);
  return {
    load_id: load._id,
    file_path: load.filePath,
    status,
    files: load.fileCount,
    files_done: load.filesDone,
    unique_devices: load.uniqueDevices,
    total_rows: load.rows,
    errors: status === JobStatus.error ? errors : null,
    created_at: load.createdAt,
    updated_at: load.updatedAt,
  };
}
