/** Finds a job's files and freezes the list: what is read later is exactly what was there now. */

import { randomBytes } from 'node:crypto';
import { jobFailureCodes } from '../../../schemas/codes.ts';
import {
  type FileDocument,
  type FileFailure,
  type JobDocument,
  type JobError,
  JobStatus,
} from '../../../schemas/documents.ts';
import { isCompressed } from '../../formats/compressions.ts';
import type { Step } from '../../runtime/step.ts';
import { type ListedObject, type ObjectStore, StoreFailure } from '../../sources/object-store.ts';
import { type FileStore, fileId, identityOf } from '../../stores/files.ts';
import type { JobStore } from '../../stores/jobs.ts';

export interface ListDependencies {
  jobs: JobStore;
  files: FileStore;
  sourceOf(job: JobDocument): Promise<{ store: ObjectStore; bucket: string; key: string }>;
  /** Why the job is not wanted any more. */
  cancellationOf(job: JobDocument): Promise<FileFailure | undefined>;
  maxFiles: number;
  batchBytes: number;
  /** How many files are published at once, and so begin as running. */
  fileWindow: number;
}

/** The job as it is now; with the files to publish first, unless another dispatcher has taken it further or it was withdrawn. */
export interface Listed {
  job: JobDocument;
  first?: FileDocument[];
  problem?: JobError;
}

const problem = (code: keyof typeof jobFailureCodes, message: string = jobFailureCodes[code]): JobError => ({
  code,
  message,
});

const newListing = (job: number) => `${job}-${randomBytes(9).toString('base64url')}`;

export function createListFiles(deps: ListDependencies) {
  async function find(
    job: JobDocument,
    { signal }: Step<'dispatch'>,
  ): Promise<{ objects: ListedObject[]; exact: boolean } | JobError> {
    const { store, bucket, key } = await deps.sourceOf(job);
    if (!key.endsWith('/')) {
      const object = await store.head(bucket, key, signal);
      if (object) return { objects: [object], exact: true };
    }
    const objects: ListedObject[] = [];
    for await (const page of store.list(bucket, key, signal)) {
      objects.push(...page);
      if (objects.length > deps.maxFiles) {
        return problem('too_many_files', `More than ${deps.maxFiles} files match the path.`);
      }
    }
    return { objects, exact: false };
  }

  /** What of the job is to be loaded, or why nothing can be. */
  async function select(
    job: JobDocument,
    step: Step<'dispatch'>,
  ): Promise<{ objects: ListedObject[] } | JobError> {
    const found = await find(job, step);
    if ('code' in found) return found;
    if (found.objects.length === 0) return problem('no_files', `No object matches ${job.filePath}.`);
    if (job.kind === 'audience') {
      const loaded = await deps.files.loadedOf(job.audience!, job.generation!);
      return { objects: found.objects.filter(({ key, etag }) => !loaded.has(identityOf(key, etag))) };
    }
    return job.compressed === null && !found.exact ? problem('compressed_required') : found;
  }

  function documentOf(job: JobDocument, listing: string, number: number, object: ListedObject): FileDocument {
    return {
      _id: fileId(listing, number),
      job: job._id,
      listing,
      number,
      audience: job.audience,
      generation: job.generation,
      path: object.key,
      etag: object.etag,
      size: object.size,
      compressed: isCompressed(object.key, job.compressed),
      batchBytes: deps.batchBytes,
      status: number < deps.fileWindow ? JobStatus.running : JobStatus.pending,
      rows: 0,
      accepted: 0,
      pairsRead: 0,
      duplicates: null,
      rejected: {},
      failure: null,
      updatedAt: new Date(),
    };
  }

  /**
   * Each step is tried again by itself, under the same listing: tried again as a whole, they would leave the first list behind.
   */
  return async (job: JobDocument, step: Step<'dispatch'>): Promise<Listed> => {
    const { files, jobs } = deps;
    const listing = newListing(job._id);
    const isWanted = async () => (await deps.cancellationOf(job)) === undefined;
    let selected: Awaited<ReturnType<typeof select>> | undefined;
    try {
      selected = await step.whileWanted('list files', isWanted, (each) => select(job, each));
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      const code = error.code === 'missing' || error.code === 'changed' ? 'no_files' : error.code;
      return { job, problem: problem(code, error.message) };
    }
    if (!selected) return { job, problem: problem('cancelled') };
    if ('code' in selected) return { job, problem: selected };
    const documents = selected.objects.map((object, number) => documentOf(job, listing, number, object));
    const bytes = documents.reduce((sum, { size }) => sum + size, 0);
    await step('listing', () => files.insertListing(documents));
    const frozen = await step('freeze', () => jobs.freeze(job._id, listing, documents.length, bytes));
    if (frozen.listing !== listing) {
      await step('forget-lists', () => files.forgetListing(listing));
      return { job: frozen };
    }
    return { job: frozen, first: documents.slice(0, deps.fileWindow) };
  };
}
