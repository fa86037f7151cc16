/** The progress of a job, polled while it waits or runs. */
import type { Load, Progress, Status } from '../client/types.ts';
import { isOpen } from '../client/words.ts';
import { read } from './api-client.ts';
import { useQuery } from './query.ts';

const POLL_MS = 700;
const LONGEST_MS = 5_000;

/** Poll jobs far back in the queue less often. */
const nextReading = ({ status, phase, jobs_ahead }: Pick<Progress, 'status' | 'phase' | 'jobs_ahead'>) => {
  if (!isOpen(status)) return null;
  return phase === 'waiting' ? Math.min(LONGEST_MS, POLL_MS * (1 + jobs_ahead)) : POLL_MS;
};

/** The oldest unfinished load; the list has the newest first. */
export const firstOpen = (loads: Load[]): Load | undefined =>
  loads.filter(({ status }) => isOpen(status)).at(-1);

/** `path` of the job; null if there is none. A change of `status` triggers a read at once. */
export function useProgress(path: string | null, status?: Status): Progress | undefined {
  const { data } = useQuery(
    path && `${path}/progress ${status}`,
    async (signal) => (await read<Progress>(`${path}/progress`, signal)).data,
    { again: nextReading, keep: true },
  );
  return data;
}
