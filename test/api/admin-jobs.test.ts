/** `headrace admin job …`: what an operator sees of jobs in every phase, and which can still be cancelled. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { createJobInspection } from '../../deploy/cli/admin/inspect-jobs.ts';
import { type JobRequest, numbered } from '../../pipeline/accept/new-job.ts';
import { collections } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { adminCommands } from './admin-commands.ts';

const PARTNER = 'p-aaaaaaaaaaaa';
const database = openDatabase();
let inspection: ReturnType<typeof createJobInspection>;
const jobs = () => database.db.collection<JobDocument>(collections.jobs);
const { run, json, refused } = adminCommands(() => database.env, 'job');

function job(id: number, more: Partial<JobDocument>, audience?: number): JobDocument {
  const common = { partner: PARTNER, filePath: `${id}/` };
  const request: JobRequest =
    audience === undefined
      ? { ...common, kind: 'import', pathType: 0, keyType: 0, compressed: null }
      : { ...common, kind: 'audience', audience, generation: 1 };
  return { ...numbered(request, id, 0, new Date()), ...more };
}

/** As the stages leave them: 1 has ended, 2 waits for a slot, 3 for a file, 4 for its listing, 5 for job 4. */
beforeAll(async () => {
  inspection = createJobInspection(createApiStores(database.db), { order: 'partner', jobWindow: 64 });
  const insert = (name: string, documents: object[]) =>
    database.db.collection(name).insertMany(documents as never);
  await insert(collections.jobs, [
    job(1, { phase: 'ended', status: 3, errors: [{ code: 'no_files', message: 'None.' }] }),
    job(2, { phase: 'decided', status: 1, listing: '2-a', fileCount: 1 }),
    job(3, { phase: 'listed', status: 1, listing: '3-a', fileCount: 3, attempt: 1 }),
    job(4, {}, 4),
    job(5, {}, 4),
    job(6, { phase: 'withdrawn' }),
  ]);
  const file = (number: number, status: number) => ({
    _id: `3-a.${number}`,
    job: 3,
    listing: '3-a',
    number,
    path: `${PARTNER}/3/${number}.csv`,
    size: 100,
    status,
    updatedAt: new Date(),
  });
  await insert(collections.files, [file(0, 2), file(1, 1), file(2, 0)]);
  const batch = (attempt: number, number: number) => ({
    _id: `3.${attempt}.${number}.0`,
    job: 3,
    attempt,
    file: number,
    batch: 0,
    rows: 10,
    accepted: 9,
  });
  await insert(collections.ledger, [batch(0, 0), batch(1, 0), batch(1, 1)]);
  const acked = Array.from({ length: 16 }, (_, slot) => slot).filter((slot) => slot !== 5);
  await insert(
    collections.acks,
    acked.map((slot) => ({ _id: 2 * 16 + slot, job: 2, slot })),
  );
});
describe('list', () => {
  it('shows what has not ended, oldest first; everything, newest first; one partner’s', async () => {
    const ids = (jobs: { job: number }[]) => jobs.map((one) => one.job);
    expect(ids(await json('list'))).toEqual([2, 3, 4, 5]);
    expect(ids(await json('list', '--all', '--limit', '5'))).toEqual([6, 5, 4, 3, 2]);
    expect(await inspection.list({ partner: 'p-none', all: true, limit: 5 })).toEqual([]);
    const { stdout } = await run('list');
    expect(stdout).toMatch(/^JOB +KIND +PARTNER +AHEAD +PHASE/);
    expect(stdout.trim().split('\n')).toHaveLength(5);
  });
});

it('how many jobs are ahead: of the same partner, or of all with one order for the service', async () => {
  await jobs().insertMany([7, 8].map((id) => job(id, { partner: 'p-cccccccccccc' })));
  const ahead = async (order: 'partner' | 'service', options: { partner?: string; all?: boolean } = {}) => {
    const { list } = createJobInspection(createApiStores(database.db), { order, jobWindow: 64 });
    const listed = await list({ all: false, limit: 10, ...options });
    return listed.map((one) => [one.job._id, one.lane, one.jobsAhead]);
  };
  const [one, two, all] = [PARTNER, 'p-cccccccccccc', 'service'];
  expect(await ahead('partner')).toEqual([
    ...[2, 3, 4, 5].map((id, place) => [id, one, place]),
    ...[7, 8].map((id, place) => [id, two, place]),
  ]);
  expect(await ahead('service')).toEqual([2, 3, 4, 5, 7, 8].map((id, place) => [id, all, place]));
  const ofTwo = { partner: two, all: true };
  expect(await ahead('partner', ofTwo)).toEqual([
    [8, two, 1],
    [7, two, 0],
  ]);
  expect(await ahead('service', ofTwo)).toEqual([
    [8, all, 5],
    [7, all, 4],
  ]);
  expect((await ahead('service', { all: true })).at(-1)).toEqual([1, all, null]);
  expect(await json('list', '--partner', two)).toMatchObject([
    { jobs_ahead: 0 },
    { lane: two, jobs_ahead: 1 },
  ]);
  expect((await run('show', '8')).stdout).toMatch(/^lane +p-cccccccccccc +1 job ahead$/m);
  await jobs().deleteMany({ _id: { $in: [7, 8] } });
});

describe('show', () => {
  it.each([
    [2, 'slots to merge it: 5'],
    [3, `2 of 3 files, the first of them ${PARTNER}/3/1.csv`],
    [4, 'the storage to list its files'],
    [5, 'job 4, an earlier load of the same audience, to end'],
    [1, null],
  ])('job %i waits for %s', async (id, what) => {
    expect(await inspection.show(id)).toMatchObject({ job: { _id: id }, waitsFor: what });
  });

  it('files, ledger and acks', async () => {
    const shown = await json('show', '3');
    expect(shown).toMatchObject({
      phase: 'listed',
      waits_for: expect.stringContaining('2 of 3 files'),
      since: shown.updated_at,
      attempt: 1,
      files_by_status: { waiting: 1, dispatched: 1, done: 1, failed: 0 },
      undecided_files: [
        { number: 1, dispatched: true, batches: 1, rows: 10, size: 100 },
        { number: 2, dispatched: false, batches: 0, rows: 0 },
      ],
      ledger: { batches: 2, rows: 20, accepted: 18 },
    });
    expect((await inspection.show(2)).acks.missing).toEqual([5]);
    const { stdout } = await run('show', '3');
    expect(stdout).toContain('waits for   2 of 3 files');
    expect(stdout).toContain('1 waiting, 1 dispatched, 1 done, 0 failed');
    expect(await refused('show', '99')).toBe('headrace: there is no job 99\n');
  });
});

describe('cancel', () => {
  it('asks for the end of a job that is not decided; of another it is refused', async () => {
    expect(await json('cancel', '--yes', '4')).toMatchObject({ job: 4, cancel_requested: true });
    expect((await inspection.show(4)).waitsFor).toBe('its cancellation by dispatch');
    expect(await jobs().findOne({ _id: 4 })).toMatchObject({
      cancelRequested: true,
    });
    expect(await refused('cancel', '--yes', '2')).toContain(
      'job 2 is being merged: it can no longer be cancelled',
    );
    await expect(inspection.cancel(1)).rejects.toThrow('job 1 is ended');
    await expect(inspection.cancel(99)).rejects.toThrow('no job 99');
  });
});

describe('a stopped job', () => {
  const stopped = { internalReason: 'sink: RangeError: out of bounds' };
  const stop = (id: number) => jobs().updateOne({ _id: id }, { $set: { stoppedAt: new Date(), ...stopped } });

  it('is listed, with what waits behind it; it can be retried and dropped, and nothing else can', async () => {
    await stop(2);
    const { stdout } = await run('list');
    expect(stdout).toMatch(/^2 .*decided \(stopped\)/m);
    expect(await json('show', '2')).toMatchObject({
      waits_for: expect.stringContaining('an operator to retry or drop it'),
      internal_reason: 'sink: RangeError: out of bounds',
      stopped_at: expect.any(String),
    });
    // All later jobs of its partner wait for it, and no other jobs.
    for (const id of [3, 5]) expect((await inspection.show(id)).waitsFor).toBe('job 2, which is stopped');
    await jobs().insertOne(job(7, { partner: 'p-bbbbbbbbbbbb' }));
    expect((await inspection.show(7)).waitsFor).toBe('the storage to list its files');
    const inService = createJobInspection(createApiStores(database.db), { order: 'service', jobWindow: 64 });
    expect((await inService.show(7)).waitsFor).toBe('job 2, which is stopped');
    expect(await refused('cancel', '--yes', '2')).toContain('to end it: headrace admin job drop 2');
    expect(await refused('drop', '--yes', '3')).toBe('headrace: job 3 is not stopped\n');
    expect(await refused('retry', '99')).toBe('headrace: there is no job 99\n');

    expect(await json('retry', '2')).toMatchObject({ stopped_at: null, attempt: 1, drop_requested: false });
    await stop(2);
    expect(await json('drop', '--yes', '2')).toMatchObject({
      stopped_at: null,
      attempt: 2,
      drop_requested: true,
    });
    await expect(inspection.resume(2, 'retry')).rejects.toThrow('job 2 is not stopped');
  });
});
