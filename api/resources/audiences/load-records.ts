/** Loads of an audience as partners see them. An addition to the specification: it explains why a load failed. */
import { fileFailureCodes } from '../../../schemas/codes.ts';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import { audienceLoad } from '../../../schemas/http-answers.ts';
import { type JobDocument, type JobPhase, JobStatus } from '../../../schemas/job-documents.ts';
import { exampleOf } from '../../http/responses.ts';

export const shownOfLoad = {
  generation: 1,
  filePath: 1,
  prefixMatches: 1,
  phase: 1,
  status: 1,
  listing: 1,
  fileCount: 1,
  filesDone: 1,
  rows: 1,
  uniqueDevices: 1,
  accepted: 1,
  rejected: 1,
  suppressed: 1,
  newDevices: 1,
  audienceDevices: 1,
  errors: 1,
  createdAt: 1,
  updatedAt: 1,
} as const;
export type ShownLoad = Pick<JobDocument, '_id' | keyof typeof shownOfLoad>;

/** A clear takes effect at once, although dispatch reaches the cancelled load only in job order. */
const cancellable: JobPhase[] = ['accepted', 'listed'];
const cancelled = { code: 'cancelled', message: fileFailureCodes.cancelled };

type Generation = Pick<AudienceDocument, 'generation'>;

export const isCancelledByClear = (load: Pick<JobDocument, 'generation' | 'phase'>, audience: Generation) =>
  load.generation! < audience.generation && cancellable.includes(load.phase);

/** Null until the load has ended. */
function broughtBy(load: ShownLoad) {
  const ended = load.phase === 'ended' ? load : undefined;
  // The audience may have been cleared before the load had its turn.
  const wasCancelled = load.errors?.some(({ code, file }) => code === 'cancelled' && file === undefined);
  return {
    rows_accepted: ended?.accepted ?? null,
    rows_rejected: ended?.rejected ?? null,
    suppressed: ended ? (ended.suppressed ?? 0) : null,
    new_devices: ended?.newDevices ?? null,
    audience_devices: wasCancelled ? null : (ended?.audienceDevices ?? null),
  };
}

export function toLoad(load: ShownLoad, audience: Generation) {
  const isCancelled = isCancelledByClear(load, audience);
  const status = isCancelled ? JobStatus.error : load.status;
  const errors = isCancelled ? [cancelled] : (load.errors ?? []);
  return {
    load_id: load._id,
    file_path: load.filePath,
    prefix_matches: load.prefixMatches ?? [],
    generation: load.generation!,
    cleared: load.generation! < audience.generation,
    status,
    files: load.fileCount,
    files_done: load.filesDone,
    unique_devices: load.uniqueDevices,
    total_rows: load.rows,
    ...broughtBy(load),
    errors: status === JobStatus.error ? errors : null,
    created_at: load.createdAt,
    updated_at: load.updatedAt,
  };
}

/** For a share link: hides the file paths. */
export const withoutPaths = (load: ReturnType<typeof toLoad>) => ({
  ...load,
  file_path: '',
  prefix_matches: [],
  errors: load.errors?.map(({ code }) => ({ code, message: code })) ?? null,
});

/** An example in the OpenAPI document. */
export const doneLoad = exampleOf(audienceLoad);
