/** A job's progress record, computed from the stored job. */
import { describe, expect, it } from 'vitest';
import { type Place, toProgress } from '../../api/jobs/progress-records.ts';
import { progress } from '../../schemas/http-progress.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { aJob } from '../support/recording-environment.ts';

const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1_000);
const first: Place = { jobsAhead: 0, isCancelled: false };
function progressOf(job: Partial<JobDocument>, place: Partial<Place> = {}, now = 10) {
  const record = toProgress(
    aJob({ createdAt: at(0), updatedAt: at(0), ...job }),
    { ...first, ...place },
    at(now).getTime(),
  );
  return progress.parse(JSON.parse(JSON.stringify(record)));
}
const loading: Partial<JobDocument> = {
  phase: 'listed',
  status: 1,
  fileCount: 4,
  filesDone: 1,
  bytes: 1_000,
  bytesDone: 250,
  rows: 500,
  startedAt: at(5),
  updatedAt: at(9),
};

describe('a job', () => {
  it('waits behind others; at their head its files are listed', () => {
    const nothingYet = { files: null, bytes: null, rows: 0, started_at: null, ended_at: null };
    const unknown = { rows_per_second: null, estimated_end_at: null };
    expect(progressOf({}, { jobsAhead: 3 })).toMatchObject({
      phase: 'waiting',
      status: 0,
      jobs_ahead: 3,
      ...nothingYet,
      ...unknown,
    });
    expect(progressOf({})).toMatchObject({ phase: 'listing', ...nothingYet, ...unknown });
  });

  it('that loads has a speed and an end, at the speed so far', () => {
    expect(progressOf(loading)).toMatchObject({
      phase: 'loading',
      files: 4,
      files_done: 1,
      bytes: 1_000,
      bytes_done: 250,
      rows_per_second: 100,
      estimated_end_at: at(25).toISOString(),
    });
  });

  it('has no estimate behind others, and without anything read', () => {
    expect(progressOf(loading, { jobsAhead: 1 }).estimated_end_at).toBe(null);
    expect(progressOf({ ...loading, bytesDone: undefined }).estimated_end_at).toBe(null);
    expect(progressOf({ ...loading, rows: 0 }).rows_per_second).toBe(null);
  });

  it('is not told wrong numbers by a clock that is behind', () => {
    expect(progressOf(loading, {}, 3)).toMatchObject({ rows_per_second: null, estimated_end_at: null });
  });

  it('that is merged or done has read everything, and its speed does not fall while it waits', () => {
    const decided: Partial<JobDocument> = { ...loading, phase: 'decided', filesDone: 4, rows: 800 };
    const expected = { bytes_done: 1_000, files_done: 4, rows_per_second: 200, estimated_end_at: null };
    expect(progressOf(decided)).toMatchObject({ phase: 'merging', ended_at: null, ...expected });
    expect(progressOf(decided, {}, 100)).toMatchObject(expected);
    expect(progressOf({ ...decided, phase: 'ended', status: 2 })).toMatchObject({
      phase: 'done',
      ended_at: at(9).toISOString(),
      ...expected,
    });
    expect(progressOf({ ...decided, phase: 'ended', status: 3 })).toMatchObject({
      phase: 'failed',
      status: 3,
    });
  });

  it('that has ended says when its files had been read, and has the speed of that time', () => {
    const ended: Partial<JobDocument> = { ...loading, phase: 'ended', status: 2, filesDone: 4, rows: 800 };
    expect(progressOf({ ...ended, decidedAt: at(7) })).toMatchObject({
      rows_per_second: 400,
      loaded_at: at(7).toISOString(),
      ended_at: at(9).toISOString(),
    });
    expect(progressOf(loading).loaded_at).toBe(null);
  });

  it('that a clear has cancelled has failed, although its turn has not come', () => {
    for (const job of [{}, loading])
      expect(progressOf(job, { isCancelled: true })).toMatchObject({
        phase: 'failed',
        status: 3,
        ended_at: null,
      });
  });

  it('that deletes has no files', () => {
    const deletion: Partial<JobDocument> = { kind: 'delete', audience: null };
    expect(progressOf(deletion)).toMatchObject({ phase: 'waiting', files: null, bytes: null });
    const ended: Partial<JobDocument> = { ...deletion, phase: 'ended', status: 2, rows: 9, startedAt: at(1) };
    expect(progressOf(ended)).toMatchObject({ phase: 'done', files: null, rows: 9, rows_per_second: null });
  });

  it('from before its start was recorded says nothing of it', () => {
    const old: Partial<JobDocument> = { ...loading, phase: 'ended', status: 2, startedAt: undefined };
    expect(progressOf(old)).toMatchObject({ started_at: null, rows_per_second: null });
  });
});
