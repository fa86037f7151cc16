/**
 * What split and validate need to know about a job besides the message: whether it is still wanted, where its files are, which keys its
 * partner has. Cached for a second, so that a clear is noticed soon and batches cost no query.
 */
import { LRUCache } from 'lru-cache';
import type { Db } from 'mongodb';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { createKeyTable, type KeyTable } from '../formats/key-table.ts';
import { cached } from '../runtime/cached.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { createAttributeStore } from './attributes.ts';
import { createAudienceStore } from './audiences.ts';
import { StaleRead } from './bulk.ts';
import { createJobStore } from './jobs/jobs.ts';

interface JobContext {
  job: JobDocument;
  /** False once the job has ended or its audience was cleared: messages in flight can be dropped. */
  wanted: boolean;
}

export type JobContexts = ReturnType<typeof createJobContexts>;

const FRESH_MS = 1_000;
const MAX_KEPT = 2_000;
/** A partner with 100,000 attributes has tables of about 4 MB, and a new one whenever it adds an attribute. */
const MAX_KEY_BYTES = 32 << 20;
/** How long a job named in a message may be unknown, until it counts as removed: a new primary may lag for moments. */
const UNKNOWN_MS = 20_000;

/** Loading; or decided, and loading lost devices again. */
const isLoading = ({ phase, attempt = 0, verdict }: JobDocument) =>
  phase === 'listed' || (phase === 'decided' && attempt > verdict!.attempt);

export function createJobContexts(db: Db, maxKeyBytes = MAX_KEY_BYTES) {
  const jobs = createJobStore(db);
  const audiences = createAudienceStore(db);
  const attributes = createAttributeStore(db);
  const contexts = new LRUCache<number, Promise<JobContext | null>>({ max: MAX_KEPT, ttl: FRESH_MS });
  const unknownSince = new LRUCache<number, number>({ max: MAX_KEPT });
  const keyTables = new LRUCache<string, KeyTable, JobDocument>({
    maxSize: maxKeyBytes,
    // A table larger than the cache is kept alone, because every batch of its job needs it.
    sizeCalculation: ({ bytes }) => Math.min(bytes, maxKeyBytes),
    // Waiting callers get their table even if it is evicted at the same moment.
    ignoreFetchAbort: true,
    fetchMethod: async (_, __, { context: job }) => createKeyTable(await attributes.keysOf(job)),
  });

  /** A stale read of one job fails only that job's callers. */
  const load = groupCommit(async (ids: number[]): Promise<(JobContext | StaleRead | null)[]> => {
    const byId = await jobs.findMany(ids);
    const loading = [...byId.values()].filter(isLoading).map(({ audience }) => audience);
    const generations = await audiences.generationsOf(loading.filter((audience) => audience !== null));
    // All jobs before the first unfinished one have ended, and may have been removed.
    const { first } = byId.size < ids.length ? await jobs.extent() : { first: 0 };
    return ids.map((id) => {
      const job = byId.get(id);
      if (!job) return id < first ? null : unknown(id);
      unknownSince.delete(id);
      return contextOf(job, generations);
    });
  });

  /** Treated as a stale read at first, as unknown (null) after UNKNOWN_MS. */
  function unknown(id: number): StaleRead | null {
    const since = unknownSince.get(id) ?? performance.now();
    unknownSince.set(id, since);
    return performance.now() - since < UNKNOWN_MS ? new StaleRead(`job ${id} is not there yet`) : null;
  }

  function contextOf(job: JobDocument, generations: Map<number, number>): JobContext | StaleRead {
    // Files are published and split only after the list is frozen, so this read is stale.
    if (job.phase === 'accepted') return new StaleRead(`job ${job._id} has no files yet`);
    if (!isLoading(job) || job.audience === null) return { job, wanted: isLoading(job) };
    const generation = generations.get(job.audience) ?? 0;
    if (generation < job.generation!)
      return new StaleRead(`audience ${job.audience} is older than job ${job._id}`);
    return { job, wanted: generation === job.generation };
  }

  async function fresh(id: number): Promise<JobContext | null> {
    const context = await load(id);
    if (context instanceof StaleRead) throw context;
    return context;
  }

  return {
    /** For a message of this attempt; messages of earlier attempts are not wanted. */
    async get(id: number, attempt: number): Promise<JobContext | null> {
      const context = await cached(contexts, id, () => fresh(id));
      const current = context?.job.attempt ?? 0;
      if (context?.wanted && attempt > current) {
        contexts.delete(id);
        throw new StaleRead(`attempt ${attempt} of job ${id} is not visible yet`);
      }
      return context && { ...context, wanted: context.wanted && attempt === current };
    },

    /** The keys that a job may use: those its partner had when the job was accepted. */
    async keysOf(job: JobDocument): Promise<KeyTable> {
      const name = `${job.partner}/${job.keyType}/${job.attributesAsOf}`;
      return keyTables.forceFetch(name, { context: job });
    },
  };
}
