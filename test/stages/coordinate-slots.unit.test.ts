/** The content of the markers to the slots. */
import { Binary } from 'mongodb';
import { afterEach, expect, it, vi } from 'vitest';
import { noneExpected } from '../../pipeline/stages/dispatch/commit/add-up-files.ts';
import {
  createSlotCoordinator,
  type SlotDependencies,
} from '../../pipeline/stages/dispatch/commit/coordinate-slots.ts';
import type { JobDocument, JobError } from '../../schemas/job-documents.ts';
import type { JobMarker } from '../../schemas/topics.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

const verdict = { passed: [], collapsed: [], attempt: 0, expected: new Binary(noneExpected.buffer) };
const decided = (job: Partial<JobDocument>) => aJob({ phase: 'decided', verdict, ...job });
const lanes = { laneOf: ({ partner }: JobDocument) => partner, endedBefore: () => 1 };
afterEach(() => {
  vi.useRealTimers();
});

async function markerOf(job: Partial<JobDocument>) {
  const { sent, step, publisher } = recordingEnvironment('dispatch');
  const deps = { ...lanes, publisher, devicePartitions: 1, stallMs: 1_000 } as SlotDependencies;
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

/** A coordinator on a fake clock. `counts`: the acks of each job. */
function withClock() {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { sent, step, publisher } = recordingEnvironment('dispatch');
  const counts = new Map<number, number>();
  const deps = {
    ...lanes,
    publisher,
    slots: 1,
    devicePartitions: 1,
    stallMs: 1_000,
    acks: { countByJob: async () => counts },
    votes: { votesOn: async () => [] },
    jobs: { endedAmong: async () => new Set() },
  } as unknown as SlotDependencies;
  const coordinator = createSlotCoordinator(deps, step, () => {});
  return { sent, counts, coordinator };
}

it('markers without a response are sent again, with a growing pause; at once when the job before is committed', async () => {
  const { sent, counts, coordinator } = withClock();
  const jobs = [1, 2, 3].map((_id) => decided({ _id }));
  await coordinator.commit(jobs);
  const merged = jobs.map((job) => coordinator.acknowledged(job));
  sent.length = 0;
  /** The jobs of the markers sent within this time. */
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

it('a marker that is sent again does not name jobs that are acknowledged: a sink may not know of them', async () => {
  const { sent, counts, coordinator } = withClock();
  const jobs = [1, 2].map((_id) => decided({ _id }));
  await coordinator.commit(jobs);
  const [first] = jobs.map((job) => coordinator.acknowledged(job));
  const named = () => sent.splice(0).map(({ message }) => message.value as JobMarker);
  expect(named()).toMatchObject([
    { job: 1, after: [] },
    { job: 2, after: [1] },
  ]);
  counts.set(1, 1);
  await coordinator.look();
  await first;
  vi.advanceTimersByTime(1_000);
  await coordinator.look();
  expect(named()).toMatchObject([{ job: 2, after: [] }]);
});

it('a job is decided only when every partition has voted, and merged only when every slot has acknowledged', async () => {
  const { step, publisher } = recordingEnvironment('dispatch');
  const votes: { job: number; attempt: number; partition: number; missing: number[] }[] = [];
  const counts = new Map<number, number>();
  const deps = {
    ...lanes,
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

/** A coordinator, and the `after` of its commit markers: the jobs to merge first. */
function createScene({ laneOf = lanes.laneOf } = {}) {
  const { step, publisher, sent } = recordingEnvironment('dispatch');
  const acked = new Map<number, number>();
  let endedBefore = 1;
  const deps = {
    laneOf,
    endedBefore: () => endedBefore,
    publisher,
    slots: 1,
    devicePartitions: 1,
    stallMs: 60_000,
    acks: { countByJob: async () => acked },
    votes: { votesOn: async () => [] },
    jobs: { endedAmong: async () => new Set() },
  } as unknown as SlotDependencies;
  const coordinator = createSlotCoordinator(deps, step, () => {});
  async function markersOf(jobs: JobDocument[]) {
    sent.length = 0;
    await coordinator.commit(jobs);
    return sent.map(({ message }) => message.value as JobMarker);
  }
  return {
    markersOf,
    /** `after` by job. */
    async afterOf(...jobs: JobDocument[]) {
      const markers = await markersOf(jobs);
      return Object.fromEntries(markers.map(({ job, after }) => [job, after.toSorted((a, b) => a - b)]));
    },
    async acknowledge(job: JobDocument) {
      const acknowledged = coordinator.acknowledged(job);
      acked.set(job._id, 1);
      await coordinator.look();
      await acknowledged;
    },
    endBefore(job: number) {
      endedBefore = job;
    },
  };
}
const ofMarketplace =
  (kind: 'import' | 'delete') =>
  (_id: number, partner = 'a') =>
    decided({ _id, partner, kind, audience: null, generation: null });
const anImport = ofMarketplace('import');
const aDeletion = ofMarketplace('delete');
const aLoad = (_id: number, audience: number, partner = 'a') => decided({ _id, partner, audience });

it('loads come after the imports before them and the loads of their audience; imports and deletions after all', async () => {
  const { afterOf } = createScene();
  const first = [aLoad(1, 5), aLoad(2, 6), aLoad(3, 5), anImport(4), aLoad(5, 5), aLoad(6, 6), aLoad(7, 5)];
  expect(await afterOf(...first)).toEqual({
    1: [],
    2: [],
    3: [1],
    4: [1, 2, 3],
    // The import's predecessors are implied.
    5: [4],
    6: [4],
    7: [4, 5],
  });
  expect(await afterOf(anImport(8), aDeletion(9), aLoad(10, 7), aDeletion(11))).toEqual({
    8: [4, 5, 6, 7],
    9: [8],
    10: [9],
    11: [9, 10],
  });
});

it('jobs of different lanes do not come after each other; with one lane for all they do', async () => {
  const jobs = [anImport(1, 'a'), anImport(2, 'b'), aLoad(3, 5, 'a'), aLoad(4, 6, 'b'), aDeletion(5, 'c')];
  expect(await createScene().afterOf(...jobs)).toEqual({ 1: [], 2: [], 3: [1], 4: [2], 5: [] });
  const one = createScene({ laneOf: () => '' });
  expect(await one.afterOf(...jobs)).toEqual({ 1: [], 2: [1], 3: [2], 4: [2], 5: [2, 3, 4] });
});

it('nothing comes after a job that every slot has acknowledged, not even what was told so before', async () => {
  const { afterOf, acknowledge } = createScene();
  const jobs = [anImport(1), aLoad(2, 5), aLoad(3, 6), anImport(4)];
  await afterOf(...jobs);
  await acknowledge(jobs[0]!);
  await acknowledge(jobs[1]!);
  expect(await afterOf(jobs[3]!)).toEqual({ 4: [3] });
  expect(await afterOf(aLoad(5, 5))).toEqual({ 5: [4] });
  await acknowledge(jobs[3]!);
  expect(await afterOf(anImport(6))).toEqual({ 6: [3, 5] });
});

it('markers say whose job it is, and before which job all have ended', async () => {
  const { markersOf, endBefore } = createScene();
  expect(await markersOf([anImport(3, 'b')])).toMatchObject([{ partner: 'b', ended_before: 1 }]);
  endBefore(3);
  expect(await markersOf([anImport(4, 'a')])).toMatchObject([{ partner: 'a', ended_before: 3 }]);
});
