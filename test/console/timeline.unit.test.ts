/** The phases of a job, from its progress. */
import { describe, expect, it } from 'vitest';
import type { Progress } from '../../api/client/types.ts';
import { timelineOf } from '../../api/console/timeline.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + 1_000 * seconds).toISOString();
const job: Progress = {
  phase: 'waiting',
  status: 0,
  jobs_ahead: 0,
  files: null,
  files_done: 0,
  rows: 0,
  bytes: null,
  bytes_done: 0,
  rows_per_second: null,
  created_at: at(0),
  listing_at: null,
  started_at: null,
  loaded_at: null,
  ended_at: null,
  estimated_end_at: null,
};
const listed: Progress = {
  ...job,
  status: 1,
  phase: 'loading',
  files: 2,
  listing_at: at(5),
  started_at: at(5.5),
};
const loaded: Progress = { ...listed, phase: 'merging', loaded_at: at(65) };
const text = (progress: Progress, isDeletion = false) =>
  timelineOf(progress, isDeletion).map(({ name, state, took }) => `${name} ${state} ${took}`.trim());

describe('the timeline of a job', () => {
  it.each<[string, Progress, string[]]>([
    ['waits', job, ['Waiting current', 'Listing ahead', 'Loading ahead', 'Merging ahead']],
    ['loads', listed, ['Waiting done 5 s', 'Listing done < 1 s', 'Loading current', 'Merging ahead']],
    ['merges', loaded, ['Waiting done 5 s', 'Listing done < 1 s', 'Loading done 1 min', 'Merging current']],
    [
      'is done',
      { ...loaded, status: 2, phase: 'done', ended_at: at(68) },
      ['Waiting done 5 s', 'Listing done < 1 s', 'Loading done 1 min', 'Merging done 3 s'],
    ],
    [
      'found no files',
      { ...loaded, status: 3, phase: 'failed', files: 0, listing_at: null, ended_at: at(61) },
      ['Waiting done', 'Listing failed', 'Loading ahead', 'Merging ahead'],
    ],
    [
      'was cancelled before it was listed',
      { ...job, status: 3, phase: 'failed' },
      ['Waiting done', 'Listing failed', 'Loading ahead', 'Merging ahead'],
    ],
    [
      'failed on a file',
      { ...loaded, status: 3, phase: 'failed', ended_at: at(61) },
      ['Waiting done 5 s', 'Listing done < 1 s', 'Loading failed', 'Merging ahead'],
    ],
  ])('that %s', (_, progress, expected) => {
    expect(text(progress)).toEqual(expected);
  });

  it('of a deletion reads no files', () => {
    expect(text(job, true)).toEqual(['Waiting current', 'Merging ahead']);
    const ended: Progress = { ...loaded, status: 2, phase: 'done', listing_at: null, ended_at: at(68) };
    expect(text(ended, true)).toEqual(['Waiting done', 'Merging done 1 min']);
  });
});
