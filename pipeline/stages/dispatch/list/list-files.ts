/**
 * Finds a job's files and freezes the list, so that exactly these objects are read later. A list of one page, the usual case, is stored in
 * one write. A longer list is stored page by page, and a new dispatcher resumes after the last page.
 */

import { randomBytes } from 'node:crypto';
import {
  type FileDocument,
  type FileFailure,
  type JobDocument,
  type JobError,
  JobStatus,
  type PartialListing,
} from '../../../../schemas/job-documents.ts';
import { isCompressed } from '../../../formats/compressions.ts';
import type { ListedObject } from '../../../sources/object-store.ts';
import { StaleRead } from '../../../stores/bulk.ts';
import { type FileStore, fileId, identityOf } from '../../../stores/files.ts';
import type { JobStore } from '../../../stores/jobs/jobs.ts';
import type { QuotaHold } from '../admit/hold-quotas.ts';
import { takeThatFit } from '../load/file-window.ts';
import type { DispatchStep } from '../steps.ts';
import {
  findObjects,
  problem,
  problemOf,
  problemOfStore,
  type SourceOf,
  withMatches,
} from './find-objects.ts';

interface ListDependencies {
  jobs: JobStore;
  files: FileStore;
  sourceOf: SourceOf;
  /** Why the job is cancelled, if it is. */
  cancellationOf(job: JobDocument): Promise<FileFailure | undefined>;
  /** Daily quotas. */
  quotas: Pick<QuotaHold, 'admit'>;
  maxFiles?: number;
  batchBytes: number;
  /** Maximum files in flight: the files published first are stored as running. */
  fileWindow: number;
}

/** The current job, with the files to publish first, unless another dispatcher has advanced it or it was withdrawn. */
export interface Listed {
  job: JobDocument;
  first?: FileDocument[];
  problem?: JobError;
}

/** The start of a listing. */
const newListing = (job: number): PartialListing => ({
  listing: `${job}-${randomBytes(9).toString('base64url')}`,
  after: '',
  found: 0,
  files: 0,
  bytes: 0,
  prefixMatches: [],
});

export function createListFiles(deps: ListDependencies) {
  const { files, jobs } = deps;

  /** Skips objects that the audience has already loaded. */
  async function selectNew(job: JobDocument, objects: ListedObject[]): Promise<ListedObject[]> {
    const mayHaveFiles = job.kind === 'audience' && job.audience !== job._id;
    if (!mayHaveFiles || objects.length === 0) return objects;
    const identities = objects.map(({ key, etag }) => identityOf(key, etag));
    const loaded = await files.loadedAmong(job.audience!, job.generation!, identities);
    return objects.filter((_, i) => !loaded.has(identities[i]!));
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
      ...(job.audience === null ? {} : { identity: identityOf(object.key, object.etag) }),
      size: object.size,
      compressed: isCompressed(object.key, job.compressed),
      batchBytes: deps.batchBytes,
      status: JobStatus.pending,
      rows: 0,
      accepted: 0,
      pairsRead: 0,
      duplicates: null,
      rejected: {},
      failure: null,
      updatedAt: new Date(),
    };
  }

  async function freeze(
    job: JobDocument,
    { listing, files: fileCount, bytes, prefixMatches }: PartialListing,
    first: FileDocument[],
    step: DispatchStep,
    listingAt: Date,
  ): Promise<Listed> {
    const matches = prefixMatches.length > 0 ? { prefixMatches } : {};
    const frozen = await step('freeze', () =>
      jobs.freeze(job._id, { listing, listingAt, fileCount, bytes, ...matches }),
    );
    if (frozen.listing === listing) return { job: frozen, first };
    await step('forget-lists', () => files.forgetListing(listing));
    return { job: frozen };
  }

  /**
   * Each step is retried separately, under the same listing id: retrying the whole sequence would leave the first list behind. The signal
   * aborts only the wait for storage; writes to MongoDB are finished.
   */
  async function list(job: JobDocument, step: DispatchStep, signal: AbortSignal): Promise<Listed> {
    const since = new Date();
    let stored = job.listed;
    let listed = stored ?? newListing(job._id);
    for await (const page of findObjects(deps.sourceOf, job, signal)) {
      const found = listed.found + page.objects.length;
      const reason = problemOf(job, found, page, deps.maxFiles);
      if (reason) return { job, problem: reason };
      const objects = await step.read('find loaded files', () => selectNew(job, page.objects));
      const { listing, files: before } = listed;
      const documents = objects.map((object, i) => documentOf(job, listing, before + i, object));
      listed = {
        listing,
        after: page.lastKey,
        found,
        files: before + objects.length,
        bytes: objects.reduce((sum, { size }) => sum + size, listed.bytes),
        prefixMatches: withMatches(listed.prefixMatches, page),
      };
      const { bytes } = listed;
      const refused = await step.read('check the quota', () => deps.quotas.admit(job, bytes));
      if (refused) return { job, problem: refused };
      if (page.isLast && !stored) {
        const first = takeThatFit(documents, deps.fileWindow);
        for (const file of first) file.status = JobStatus.running;
        await step('listing', () => files.insertListing(documents));
        return freeze(job, listed, first, step, since);
      }
      const [known, next] = [stored, listed];
      if (!(await step('listing-page', () => jobs.addPage(job._id, known, next, documents))))
        return resume(job, known, step, signal);
      stored = listed;
    }
    return freeze(job, listed, [], step, since);
  }

  /** The page was already stored: by a previous dispatcher that still runs, or by our own write whose response was lost. */
  async function resume(
    { _id }: JobDocument,
    known: PartialListing | undefined,
    step: DispatchStep,
    signal: AbortSignal,
  ): Promise<Listed> {
    const current = await step.read('read the stored listing', async () => {
      const job = await jobs.find(_id);
      if (job && (job.phase !== 'accepted' || job.listed?.after !== known?.after)) return job;
      throw new StaleRead(`the stored listing of job ${_id} is not visible yet`);
    });
    return current.phase === 'accepted' ? list(current, step, signal) : { job: current };
  }

  return async (job: JobDocument, step: DispatchStep): Promise<Listed> => {
    const isWanted = async () => (await deps.cancellationOf(job)) === undefined;
    try {
      const listed = await step.whileWanted('list files', isWanted, ({ signal }) => list(job, step, signal));
      return listed ?? { job, problem: problem('cancelled') };
    } catch (error) {
      return { job, problem: problemOfStore(error) };
    }
  };
}
