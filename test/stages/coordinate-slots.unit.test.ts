/** What the markers tell the slots. */
import { Binary } from 'mongodb';
import { afterEach, expect, it, vi } from 'vitest';
import { noneExpected } from '../../pipeline/stages/dispatch/commit/add-up-files.ts';
import {
  createSlotCoordinator,
  type SlotDependencies,
} from '../../pipeline/stages/dispatch/commit/coordinate-slots.ts';
import type { JobDocument, JobError } from '../../schemas/documents.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

const verdict = { passed: [], collapsed: [], attempt: 0, expected: new Binary(noneExpected.buffer) };
const decided = (job: Partial<JobDocument>) => aJob({ phase: 'decided', verdict, ...job });
afterEach(() => {
  vi.useRealTimers();
});

async function markerOf(job: Partial<JobDocument>) {
  const { sent, step, publisher } = recordingEnvironment('dispatch');
  const deps = { publisher, devicePartitions: 1, stallMs: 1_000 } as SlotDependencies;
  await createSlotCoordinator(deps, step, () => {}).commit([decided(job)]);
  return sent[0]!.message.value;
}

it('a deletion names its attributes; one that failed or was cancelled removes nothing', async () => {
  const deletion: Partial<JobDocument> = { kind: 'delete', audience: null, generation: null };
  const attributes = [3, 4];
  expect(await markerOf({ ...deletion, attributes })).toMatchObject({ kind: 'delete', attributes });
  const errors: JobError[] = [{ code: 'cancelled', message: 'An operator cancelled the job.' }];
  expect(await markerOf({ ...deletion, attributes, errors })).toMatchObject({ attributes: [] });
});

it('markers without a response are sent again, with a growing pause; at once when the job before is committed', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { sent, step, publisher } = recordingEnvironment('dispatch');
  const counts = new Map<number, number>();
  const deps = {
    publisher,
    slots: 1,
    devicePartitions: 1,
    stallMs: 1_000,
    acks: { countByJob: async () => counts },
    votes: { votesOn: async () => [] },
    jobs: { endedAmong: async () => new Set() },
  } as unknown as SlotDependencies;
  const coordinator = createSlotCoordinator(deps, step, () => {});
  const jobs = [1, 2, 3].map((_id) => decided({ _id }));
  await coordinator.commit(jobs);
  const merged = jobs.map((job) => coordinator.acknowledged(job));
  sent.length = 0;
  /** What is sent within so many seconds. */
  const after = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      vi.advanceTimersByTime(1_000);
      await coordinator.look();
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
  const votes: { job: number; attempt: number; partition: number; missing: number[] }[] = [];
  const counts = new Map<number, number>();
  const deps = {
    publisher,
    slots: 4,
    devicePartitions: 3,
    stallMs: 60_000,
    acks: { countByJob: async () => counts },
    votes: { votesOn: async () => votes },
    jobs: { endedAmong: async () => new Set() },
  } as unknown as SlotDependencies;
  const coordinator = createSlotCoordinator(deps, step, () => {});
  const job = decided({ _id: 1 });
  const settled: string[] = [];
  const voted = coordinator.prepare(job, verdict).then(() => settled.push('voted'));
  await coordinator.look();
  for (const partition of [0, 1]) votes.push({ job: 1, attempt: 0, partition, missing: [] });
  await coordinator.look();
  expect(settled).toEqual([]);
  votes.push({ job: 1, attempt: 0, partition: 2, missing: [] });
  await coordinator.look();
  await voted;
  expect(settled).toEqual(['voted']);

  await coordinator.commit([job]);
  const merged = coordinator.acknowledged(job).then(() => settled.push('merged'));
  counts.set(1, 3);
  await coordinator.look();
  await Promise.resolve();
  expect(settled).toEqual(['voted']);
  counts.set(1, 4);
  await coordinator.look();
  await merged;
  expect(settled).toEqual(['voted', 'merged']);
});
