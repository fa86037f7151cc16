/** The progress of a job, read again while it waits or runs. */
import type { Load, Progress } from './answers.ts';
import { read } from './api-client.ts';
import { useQuery } from './query.ts';
import { isOpen } from './words.ts';

const POLL_MS = 1_000;
/** A queue moves slowly, and a list may have many that wait. */
const WAITING_MS = 3_000;

/** The load that comes first of those that have not ended; the list has the newest first. */
export const firstOpen = (loads: Load[]): Load | undefined =>
  loads.filter(({ status }) => isOpen(status)).at(-1);

/** `path` of the job; null while there is nothing to follow. */
export function useProgress(path: string | null): Progress | undefined {
  const { data } = useQuery(
    path && `${path}/progress`,
    async (signal) => (await read<Progress>(`${path}/progress`, signal)).data,
    { again: ({ status, phase }) => (!isOpen(status) ? null : phase === 'waiting' ? WAITING_MS : POLL_MS) },
  );
  return data;
}
