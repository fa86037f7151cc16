/** Removes finished jobs and all that belongs to them, the jobs last: until then they are found, and removed again. */
import { lastRemoved } from '../../../stores/counters.ts';
import type { EndedJob } from '../../../stores/jobs/jobs.ts';
import type { Stores } from '../../../stores/stores.ts';

type Dependencies = Pick<Stores, 'jobs' | 'files' | 'rejects' | 'counters'>;

export type RemoveJobs = ReturnType<typeof createRemoveJobs>;

export function createRemoveJobs({ jobs, files, rejects, counters }: Dependencies) {
  return async (ended: EndedJob[], signal: AbortSignal): Promise<void> => {
    if (ended.length === 0) return;
    const ids = ended.map(({ _id }) => _id);
    await rejects.removeOf(ids, signal);
    await files.removeOf(ids, signal);
    const last = new Map<string, number>();
    for (const job of ended) last.set(lastRemoved(job), Math.max(job._id, last.get(lastRemoved(job)) ?? 0));
    await counters.raise(last);
    await jobs.remove(ids);
  };
}
