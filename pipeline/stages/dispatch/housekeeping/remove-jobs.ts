/** Removes ended jobs and everything that belongs to them. The jobs go last, so that an interrupted removal is repeated. */
import type { EndedJob } from '../../../stores/jobs/jobs.ts';
import type { Stores } from '../../../stores/stores.ts';

type Dependencies = Pick<Stores, 'jobs' | 'files' | 'rejects' | 'requestResults'>;

export type RemoveJobs = ReturnType<typeof createRemoveJobs>;

export function createRemoveJobs({ jobs, files, rejects, requestResults }: Dependencies) {
  return async (ended: EndedJob[], signal: AbortSignal): Promise<void> => {
    if (ended.length === 0) return;
    const ids = ended.map(({ _id }) => _id);
    await rejects.removeOf(ids, signal);
    await requestResults.forget(ids);
    await files.removeOf(ids, signal);
    await jobs.remove(ids);
  };
}
