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

  async function load(id: number): Promise<JobContext | null> {
    const job = await jobs.findOne({ _id: id });
    if (!job) return null;
    // Nobody hands out a file, or cuts it, before the job's list is frozen.
    if (job.phase === 'accepted') throw new StaleRead(`job ${id} has no files yet`);
    let wanted = job.phase === 'loading';
    if (wanted && job.audience !== null) {
      const audience = await audiences.findOne({ _id: job.audience }, { projection: { generation: 1 } });
      if (!audience || audience.generation < job.generation!)
        throw new StaleRead(`audience ${job.audience} is older than job ${id}`);
      wanted = audience.generation === job.generation;
    }
    return { job, wanted };
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
      const context = load(id);
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
