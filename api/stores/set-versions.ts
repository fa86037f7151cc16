/**
 * Versions of device sets. Only a decided job changes sets, until it has ended. So if no job was decided at two moments, and the number
 * of ended jobs is the same, no set has changed in between.
 */
import type { Db } from 'mongodb';
import { createCounterStore } from '../../pipeline/stores/counters.ts';
import { createJobStore } from '../../pipeline/stores/jobs/jobs.ts';
import type { EndedJobs } from '../../schemas/composition-documents.ts';
import { EVERYONE, type JobDocument } from '../../schemas/job-documents.ts';

/** Which sets a decided job is changing. */
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
  const jobs = createJobStore(db);
  const { endsChanging: ended } = createCounterStore(db);

  async function merging(partner: string, audience: number): Promise<Merging> {
    const decided = await jobs.beingMerged();
    const isOfPartner = (job: Pick<JobDocument, 'partner'>) => [partner, EVERYONE].includes(job.partner);
    const loads = decided.filter(
      (job) => (job.kind === 'audience' || job.kind === 'privacy') && isOfPartner(job),
    );
    return {
      marketplace: decided.some(({ kind }) => kind !== 'audience'),
      loads: loads.length > 0,
      own: loads.some((job) => job.kind === 'privacy' || job.audience === audience),
    };
  }

  return {
    ended,

    /** In this order: a job that ends between the two reads is seen as merging or as ended, never as neither. */
    async of(partner: string, audience: number): Promise<SetVersion> {
      return { merging: await merging(partner, audience), ended: await ended(partner) };
    },
  };
}
