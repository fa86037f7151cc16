/**
 * Retention: removes ended jobs and their files after some days, and rejected rows, usually sooner. Goes by job number, and a watermark
 * records the progress. A load stays as long as its audience has its devices, because its files tell an append what to skip. The newest
 * job always stays, because the next one is numbered after it.
 *
 * Every step is idempotent: a job is removed last, after everything that belongs to it.
 */

import type { Logger } from '../../../runtime/log.ts';
import { removedUpTo } from '../../../stores/counters.ts';
import type { EndedJob } from '../../../stores/jobs/jobs.ts';
import type { Stores } from '../../../stores/stores.ts';
import type { DispatchStep } from '../steps.ts';
import type { RemoveJobs } from './remove-jobs.ts';

interface Dependencies extends Pick<Stores, 'jobs' | 'audiences' | 'rejects' | 'counters'> {
  log: Logger;
  removeJobs: RemoveJobs;
  retentionDaysJobs: number;
  retentionDaysRejects: number;
}

const AT_ONCE = 500;

export function createExpireJobs(deps: Dependencies) {
  const { log, jobs, audiences, rejects, counters } = deps;

  /** Jobs that no current generation of an audience needs. */
  async function removable(ended: EndedJob[]): Promise<EndedJob[]> {
    const loads = ended.filter(({ audience, phase }) => audience !== null && phase === 'ended');
    const generations = await audiences.generationsOf(loads.map(({ audience }) => audience!));
    const living = new Set(
      loads.filter((load) => (generations.get(load.audience!) ?? 0) <= load.generation!),
    );
    return ended.filter((job) => !living.has(job));
  }

  async function expire(
    what: keyof typeof removedUpTo,
    days: number,
    remove: (ended: EndedJob[]) => Promise<unknown>,
    step: DispatchStep,
  ): Promise<void> {
    const { first, newest } = await jobs.extent();
    const before = Math.min(first, newest);
    const name = removedUpTo[what];
    let [after = 0] = await counters.highest([name]);
    for (;;) {
      const began = performance.now();
      const ended = await jobs.endedBefore(days, { after, before }, AT_ONCE);
      if (ended.length === 0) return;
      await remove(ended);
      after = ended.at(-1)!._id;
      await counters.raise(new Map([[name, after]]));
      log.info({ up_to_job: after }, `removed expired ${what}`);
      // Take at most half of the time.
      await step.pause(performance.now() - began);
    }
  }

  return async (step: DispatchStep): Promise<void> => {
    const idsOf = (ended: EndedJob[]) => ended.map(({ _id }) => _id);
    const removeRejects = (ended: EndedJob[]) => rejects.removeOf(idsOf(ended), step.signal);
    const removeExpired = async (ended: EndedJob[]) => deps.removeJobs(await removable(ended), step.signal);
    await expire('rejects', deps.retentionDaysRejects, removeRejects, step);
    await expire('jobs', deps.retentionDaysJobs, removeExpired, step);
  };
}
