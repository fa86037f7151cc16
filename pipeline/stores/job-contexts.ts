/**
 * What split and validate must know of a job beside their message: whether it is still wanted, where its files are, which keys
 * its partner has. Kept for a second, so that a clear is noticed soon and a batch costs no query.
 */
import type { Db } from 'mongodb';
import {
  type AttributeDocument,
  type AudienceDocument,
  collections,
  type JobDocument,
} from '../../schemas/documents.ts';
import { createKeyTable, type KeyTable } from '../formats/key-table.ts';
import { together } from '../runtime/together.ts';
import { StaleRead } from './stale-read.ts';

export interface JobContext {
  job: JobDocument;
  /** False once the job has ended or its audience was cleared: whatever is still under way for it can be dropped. */
  wanted: boolean;
}

export type JobContexts = ReturnType<typeof createJobContexts>;

const FRESH_MS = 1_000;
const KEPT = 2_000;

export function createJobContexts(db: Db) {
  const jobs = db.collection<JobDocument>(collections.jobs);
  const audiences = db.collection<AudienceDocument>(collections.audiences);
  const attributes = db.collection<AttributeDocument>(collections.attributes);
  const contexts = new Map<number, { at: number; context: Promise<JobContext | null> }>();
  const keyTables = new Map<string, Promise<KeyTable>>();

  /** An old picture of one job is no trouble of the others: it is told as that one's result. */
  const load = together(async (ids: number[]): Promise<(JobContext | StaleRead | null)[]> => {
    const found = await jobs.find({ _id: { $in: ids } }).toArray();
    const byId = new Map(found.map((job) => [job._id, job]));
    const generations = await generationsOf(found.filter(({ phase }) => phase === 'loading'));
    return ids.map((id) => {
      const job = byId.get(id);
      return job ? contextOf(job, generations) : null;
    });
  });

  async function generationsOf(loading: JobDocument[]): Promise<Map<number, number>> {
    const ids = loading.map(({ audience }) => audience).filter((audience) => audience !== null);
    if (ids.length === 0) return new Map();
    const found = await audiences
      .find({ _id: { $in: ids } })
      .project<{ _id: number; generation: number }>({ generation: 1 })
      .toArray();
    return new Map(found.map(({ _id, generation }) => [_id, generation]));
  }

  function contextOf(job: JobDocument, generations: Map<number, number>): JobContext | StaleRead {
    // Nobody hands out a file, or cuts it, before the job's list is frozen.
    if (job.phase === 'accepted') return new StaleRead(`job ${job._id} has no files yet`);
    if (job.phase !== 'loading' || job.audience === null) return { job, wanted: job.phase === 'loading' };
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

  async function loadKeys(job: JobDocument): Promise<KeyTable> {
    const known = await attributes
      .find({ partner: job.partner, sequence: { $lte: job.attributesAsOf } })
      .project<AttributeDocument>({ foreignKey: 1, foreignKeySequence: 1 })
      .toArray();
    const entries =
      job.keyType === 0
        ? known.map(({ _id }) => ({ key: String(_id), attribute: _id }))
        : known
            .filter(
              ({ foreignKeySequence }) =>
                (foreignKeySequence ?? Number.POSITIVE_INFINITY) <= job.attributesAsOf,
            )
            .map(({ _id, foreignKey }) => ({ key: foreignKey!, attribute: _id }));
    return createKeyTable(entries);
  }

  /** The oldest entries go first: both maps keep the order of insertion. */
  function trim(map: Map<unknown, unknown>): void {
    for (const key of map.keys()) {
      if (map.size <= KEPT) return;
      map.delete(key);
    }
  }

  return {
    async get(id: number): Promise<JobContext | null> {
      const known = contexts.get(id);
      if (known && performance.now() - known.at < FRESH_MS) return known.context;
      const context = fresh(id);
      contexts.delete(id);
      contexts.set(id, { at: performance.now(), context });
      context.catch(() => contexts.delete(id));
      trim(contexts);
      return context;
    },

    /** The keys that a job may name: those its partner had when it was accepted. */
    keysOf(job: JobDocument): Promise<KeyTable> {
      const name = `${job.partner}/${job.keyType}/${job.attributesAsOf}`;
      const known = keyTables.get(name);
      if (known) return known;
      const keys = loadKeys(job);
      keyTables.set(name, keys);
      keys.catch(() => keyTables.delete(name));
      trim(keyTables);
      return keys;
    },
  };
}
