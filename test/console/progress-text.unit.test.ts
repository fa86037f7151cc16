import { describe, expect, it } from 'vitest';
import { fractionDone, phaseText, remainingText, workText } from '../../api/client/progress-text.ts';
import type { Progress } from '../../api/client/types.ts';

const progress: Progress = {
  phase: 'loading',
  status: 1,
  jobs_ahead: 0,
  files: 8,
  files_done: 2,
  rows: 1_200_000,
  bytes: 400,
  bytes_done: 100,
  rows_per_second: 399_999.6,
  created_at: '2026-06-01T08:00:00Z',
  listing_at: '2026-06-01T08:00:00Z',
  started_at: '2026-06-01T08:00:01Z',
  loaded_at: null,
  ended_at: null,
  estimated_end_at: '2026-06-01T08:00:30Z',
};
const now = Date.parse('2026-06-01T08:00:10Z');

describe('progress', () => {
  it('says the place in the queue', () => {
    expect(phaseText({ phase: 'waiting', jobs_ahead: 3 })).toBe('Waiting: 3 jobs ahead in the queue');
    expect(phaseText({ phase: 'waiting', jobs_ahead: 0 })).toBe('Waiting: next in the queue');
  });

  it('says what is done, how fast, and how long it still takes', () => {
    expect(workText(progress)).toBe('2 of 8 files · 1,200,000 rows · 400,000 rows/s');
    expect(remainingText(progress, now)).toBe('about 20 s left');
    expect(remainingText(progress, now + 19_500)).toBe('a moment left');
    expect(remainingText({ estimated_end_at: null }, now)).toBe('');
  });

  it('is a fraction of the bytes, of the files, or not known', () => {
    expect(fractionDone(progress)).toBe(0.25);
    expect(fractionDone({ ...progress, bytes: null })).toBe(0.25);
    expect(fractionDone({ ...progress, bytes: null, files: null })).toBeNull();
    expect(fractionDone({ ...progress, phase: 'waiting' })).toBeNull();
    expect(fractionDone({ ...progress, phase: 'done' })).toBe(1);
  });
});
