/**
 * How far the jobs have come that change device sets. A set is changed only by a job that is being merged: decided, and so is every
 * job before it. Jobs end in their order. So where none was being merged and the last ended one is the same before and after, no
 * set has changed in between. Deferred jobs are out of that order; their ends are counted. Old jobs are removed; of those, the last is known.
 */
import type { Db, Filter } from 'mongodb';
import { createCounterStore, DEFERRED_ENDS, lastRemoved } from '../../pipeline/stores/counters.ts';
import { inOrder, jobCollection } from '../../pipeline/stores/jobs/jobs.ts';
import type { EndedJobs } from '../../schemas/composition-documents.ts';
import type { JobDocument } from '../../schemas/documents.ts';

export type SetVersions = ReturnType<typeof createSetVersions>;

/** Which sets are being merged into. */
export interface Merging {
  /** Some attribute. */
  marketplace: boolean;
  /** Some audience of the partner. */
  loads: boolean;
  /** The audience itself. */
  own: boolean;
}

export interface SetVersion {
  merging: Merging;
  ended: EndedJobs;
}

export function createSetVersions(db: Db) {
  const jobs = jobCollection(db);
  const counters = createCounterStore(db);

  /** Only jobs before the first of these. */
  const before = async (filter: Filter<JobDocument>): Promise<Filter<JobDocument>> => {
    const first = await jobs.find(filter).sort({ _id: 1 }).limit(1).project({ _id: 1 }).next();
    return first === null ? {} : { _id: { $lt: first._id as number } };
  };

  async function merging(partner: string, audience: number): Promise<Merging> {
    // A decided job behind one that is still loading waits for it, unless it is deferred.
    const inTurn = await before({ ...inOrder, phase: { $in: ['accepted', 'listed'] } });
    const decided = await jobs
      .find({ phase: 'decided', $or: [inTurn, { deferred: true }] })
      .project<Pick<JobDocument, 'kind' | 'partner' | 'audience'>>({
        _id: 0,
        kind: 1,
        partner: 1,
        audience: 1,
      })
      .toArray();
    const loads = decided.filter((job) => job.kind === 'audience' && job.partner === partner);
    return {
      marketplace: decided.some(({ kind }) => kind !== 'audience'),
      loads: loads.length > 0,
      own: loads.some((job) => job.audience === audience),
    };
  }

  async function ended(partner: string): Promise<EndedJobs> {
    // The bound keeps the look-up short: without it, all that waits would be passed over one by one.
    const done = await before(inOrder);
    const last = async (filter: Filter<JobDocument>, hint: string): Promise<number> => {
      const found = jobs.find({ ...filter, ...done, phase: 'ended' }, { hint }).sort({ _id: -1 });
      return ((await found.limit(1).project({ _id: 1 }).next())?._id as number | undefined) ?? 0;
    };
    // Told which index to use: the one by phase fits as well, and would pass over all jobs of other kinds.
    const [imports, deletions, loads] = await Promise.all([
      last({ kind: 'import' }, 'by_kind'),
      last({ kind: 'delete' }, 'by_kind'),
      last({ kind: 'audience', partner }, 'by_partner'),
    ]);
    // After the jobs: one that is removed in between is found in one of the two.
    const [fromMarketplace = 0, fromLoads = 0, deferred = 0] = await counters.highest([
      lastRemoved({ kind: 'import', partner }),
      lastRemoved({ kind: 'audience', partner }),
      DEFERRED_ENDS,
    ]);
    return {
      marketplace: Math.max(imports, deletions, fromMarketplace),
      // It grows with every end: a deferred load may end behind later ones of other audiences.
      loads: Math.max(loads, fromLoads) + deferred,
    };
  }

  return {
    ended,

    /** In this order: a job that ends between the two reads is found to be merging, or to have ended. */
    async of(partner: string, audience: number): Promise<SetVersion> {
      return { merging: await merging(partner, audience), ended: await ended(partner) };
    },
  };
}
