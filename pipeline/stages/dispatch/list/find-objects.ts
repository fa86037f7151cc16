/** Finds the objects of a path, and the problems that prevent loading them. */
import { jobFailureCodes } from '../../../../schemas/codes.ts';
import type { JobDocument, JobError } from '../../../../schemas/job-documents.ts';
import { type ObjectPage, type ObjectStore, StoreFailure } from '../../../sources/object-store.ts';

export type SourceOf = (job: JobDocument) => Promise<{ store: ObjectStore; bucket: string; key: string }>;

interface FoundPage extends ObjectPage {
  /** The path is an object's full key. */
  isExact: boolean;
  /** For a prefix without a trailing slash: matching names, up to the next slash. */
  prefixMatches: string[];
}

export const problem = (
  code: keyof typeof jobFailureCodes,
  message: string = jobFailureCodes[code],
): JobError => ({ code, message });

/** The object itself, or all objects with the prefix, starting after the stored pages. */
export async function* findObjects(
  sourceOf: SourceOf,
  job: JobDocument,
  signal: AbortSignal,
): AsyncGenerator<FoundPage> {
  const { store, bucket, key } = await sourceOf(job);
  const after = job.listed?.after;
  const object = key.endsWith('/') || job.listed ? null : await store.head(bucket, key, signal);
  if (object) yield { objects: [object], lastKey: key, isLast: true, isExact: true, prefixMatches: [] };
  else
    for await (const page of store.list(bucket, key, { after, signal }))
      yield {
        ...page,
        isExact: false,
        prefixMatches: key.endsWith('/') ? [] : matchesOf(job.filePath, key, page),
      };
}

/** Matches in the form of the submitted path: `day` may match `day/`, `day2/` and `day.csv`. */
function matchesOf(filePath: string, key: string, { objects }: ObjectPage): string[] {
  const nameOf = ({ key: full }: { key: string }) => {
    const slash = full.indexOf('/', key.length);
    return filePath + full.slice(key.length, slash < 0 ? undefined : slash + 1);
  };
  return [...new Set(objects.map(nameOf))];
}

const MAX_MATCHES = 20;
export const withMatches = (known: string[], { prefixMatches }: FoundPage): string[] =>
  prefixMatches.length === 0 ? known : [...new Set([...known, ...prefixMatches])].slice(0, MAX_MATCHES);

const MAX_FILES = 1_000_000;

/** Why the job cannot be loaded, judged by the objects found so far. */
export function problemOf(
  job: Pick<JobDocument, 'kind' | 'compressed' | 'filePath'>,
  found: number,
  page: Pick<FoundPage, 'isLast' | 'isExact'>,
  maxFiles = MAX_FILES,
): JobError | undefined {
  if (found > maxFiles) return problem('too_many_files', `More than ${maxFiles} files match the path.`);
  if (page.isLast && found === 0) return problem('no_files', `No object matches ${job.filePath}.`);
  const isGuess = job.kind === 'import' && job.compressed === null && !page.isExact;
  return isGuess && found > 0 ? problem('compressed_required') : undefined;
}

/** Maps a storage failure during listing to a job error. */
export function problemOfStore(error: unknown): JobError {
  if (!(error instanceof StoreFailure)) throw error;
  const { code, message } = error;
  if (code === 'missing' || code === 'changed') return problem('no_files', message);
  // `storage_too_slow` applies to reading files: a listing either completes in time or counts as unavailable.
  return problem(code === 'storage_too_slow' ? 'storage_unavailable' : code, message);
}
