/** The phases of a job, with their durations. */
import { duration } from '../client/format.ts';
import type { Progress } from '../client/types.ts';

export interface Phase {
  name: string;
  state: 'done' | 'current' | 'failed' | 'ahead';
  /** The duration; empty until the phase is over. */
  took: string;
}

const ofImport = ['waiting', 'listing', 'loading', 'merging'] as const;
/** A deletion reads no files. */
const ofDeletion = ['waiting', 'merging'] as const;
const names = { waiting: 'Waiting', listing: 'Listing', loading: 'Loading', merging: 'Merging' };

const between = (from: string | null, to: string | null): string => {
  if (from === null || to === null) return '';
  const ms = Date.parse(to) - Date.parse(from);
  return ms < 1_000 ? '< 1 s' : duration(ms / 1_000);
};

/** The phase in which a job failed. */
function failedIn({ started_at, loaded_at, files }: Progress): (typeof ofImport)[number] {
  if (loaded_at !== null && started_at !== null) return files === 0 ? 'listing' : 'loading';
  return started_at === null ? 'listing' : 'loading';
}

export function timelineOf(progress: Progress, isDeletion = false): Phase[] {
  const { phase, created_at, listing_at, started_at, loaded_at, ended_at } = progress;
  const phases: readonly (typeof ofImport)[number][] = isDeletion ? ofDeletion : ofImport;
  const stopped = phase === 'failed' ? (isDeletion ? 'merging' : failedIn(progress)) : undefined;
  const current = stopped ?? phase;
  const at = current === 'done' ? phases.length : phases.indexOf(current as 'waiting');
  const took = {
    waiting: between(created_at, listing_at),
    listing: between(listing_at, started_at),
    loading: between(started_at, loaded_at),
    merging: isDeletion ? between(created_at, ended_at) : between(loaded_at, ended_at),
  };
  return phases.map((each, index) => ({
    name: names[each],
    state: index < at ? 'done' : index > at ? 'ahead' : stopped ? 'failed' : 'current',
    took: index < at ? took[each] : '',
  }));
}
