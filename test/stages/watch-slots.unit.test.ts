/** What the markers tell the slots. */
import { Binary } from 'mongodb';
import { afterEach, expect, it, vi } from 'vitest';
import { noneExpected } from '../../pipeline/stages/dispatch/add-up.ts';
import { createSlotWatch, type SlotDependencies } from '../../pipeline/stages/dispatch/watch-slots.ts';
import type { JobDocument, JobError } from '../../schemas/documents.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

const verdict = { passed: [], collapsed: [], attempt: 0, expected: new Binary(noneExpected.buffer) };
const sealed = (job: Partial<JobDocument>) => aJob({ phase: 'sealed', verdict, ...job });
afterEach(() => {
  vi.useRealTimers();
});

async function markerOf(job: Partial<JobDocument>) {
  const { sent, step, publisher } = recordingEnvironment('dispatch');
  const deps = { publisher, devicePartitions: 1, stallMs: 1_000 } as SlotDependencies;
  await createSlotWatch(deps, step, () => {}).mark([sealed(job)]);
  return sent[0]!.message.value;
}

it('a deletion names its attributes; one that failed or was cancelled removes nothing', async () => {
  const deletion: Partial<JobDocument> = { kind: 'delete', audience: null, generation: null };
  const attributes = [3, 4];
  expect(await markerOf({ ...deletion, attributes })).toMatchObject({ kind: 'delete', attributes });
  const errors: JobError[] = [{ code: 'cancelled', message: 'An operator cancelled the job.' }];
  expect(await markerOf({ ...deletion, attributes, errors })).toMatchObject({ attributes: [] });
});

it('markers that nobody answers are sent again, ever more seldom; at once when the job before is merged', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { sent, step, publisher } = recordingEnvironment('dispatch');
  const counts = new Map<number, number>();
  const deps = {
    publisher,
    slots: 1,
    devicePartitions: 1,
    stallMs: 1_000,
    acks: { countByJob: async () => counts },
    checks: { answersTo: async () => [] },
    jobs: { endedAmong: async () => new Set() },
  } as unknown as SlotDependencies;
  const watch = createSlotWatch(deps, step, () => {});
  const jobs = [1, 2, 3].map((_id) => sealed({ _id }));
  await watch.mark(jobs);
  const merged = jobs.map((job) => watch.merged(job));
  sent.length = 0;
  /** What is sent within so many seconds. */
  const after = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      vi.advanceTimersByTime(1_000);
      await watch.look();
    }
    return sent.splice(0).map(({ message }) => (message.value as { job: number }).job);
  };
  expect(await after(1)).toEqual([1, 2, 3]);
  expect(await after(2)).toEqual([1, 2, 3]);
  await after(300);
  counts.set(1, 1);
  expect(await after(1)).toEqual([2, 3]);
  expect(await merged[0]).toEqual([]);
  expect(await after(2)).toEqual([2, 3]);
});

it('a job is decided only when every partition has voted, and merged only when every slot has acknowledged', async () => {
  const { step, publisher } = recordingEnvironment('dispatch');
  const votes: { job: number; attempt: number; partition: number; lacking: number[] }[] = [];
  const counts = new Map<number, number>();
  const deps = {
    publisher,
    slots: 4,
    devicePartitions: 3,
    stallMs: 60_000,
    acks: { countByJob: async () => counts },
    checks: { answersTo: async () => votes },
    jobs: { endedAmong: async () => new Set() },
  } as unknown as SlotDependencies;
  const watch = createSlotWatch(deps, step, () => {});
  const job = sealed({ _id: 1 });
  const settled: string[] = [];
  const checked = watch.check(job, verdict).then(() => settled.push('voted'));
  await watch.look();
  for (const partition of [0, 1]) votes.push({ job: 1, attempt: 0, partition, lacking: [] });
  await watch.look();
  expect(settled).toEqual([]);
  votes.push({ job: 1, attempt: 0, partition: 2, lacking: [] });
  await watch.look();
  await checked;
  expect(settled).toEqual(['voted']);

  await watch.mark([job]);
  const merged = watch.merged(job).then(() => settled.push('merged'));
  counts.set(1, 3);
  await watch.look();
  await Promise.resolve();
  expect(settled).toEqual(['voted']);
  counts.set(1, 4);
  await watch.look();
  await merged;
  expect(settled).toEqual(['voted', 'merged']);
});
