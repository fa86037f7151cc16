/**
 * A job is merged after the jobs that its marker names and waits for no others. If a job cannot be merged, only the jobs that
 * depend on it wait.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { SMALL_BYTES } from '../../pipeline/stages/sink/merge-jobs.ts';
import { createMergeQueue } from '../../pipeline/stages/sink/merge-queue.ts';
import type { JobMarker } from '../../schemas/topics.ts';
import { eventually } from '../support/eventually.ts';
import { markerOf } from '../support/markers.ts';
import { waitFor } from '../support/wait-for.ts';

type Kind = JobMarker['kind'];
interface Added {
  bytes?: number;
  after?: number[];
  request?: JobMarker['request'];
}

/** A queue whose merges end when the test says so. */
function createScene(suspects: number[] = []) {
  const merges: number[][] = [];
  const givenUp: [number, string][] = [];
  const over = new AbortController();
  const running = new Map<string, { resolve(): void; reject(error: unknown): void }>();
  const merged = new Set<number>();
  const queue = createMergeQueue({
    merge(markers) {
      const jobs = markers.map(({ job }) => job);
      merges.push(jobs);
      return new Promise((resolve, reject) => running.set(jobs.join(), { resolve, reject }));
    },
    isAlone: ({ job }) => suspects.includes(job),
    onFailure: () => {},
    isInSequence: ({ after }) => after.every((job) => merged.has(job) || queue.has(job)),
    onGivenUp: async ({ job }, reason) => void givenUp.push([job, reason]),
    pause: async () => {},
    signal: over.signal,
  });
  async function settle(jobs: number[]) {
    const name = jobs.join();
    const merge = await waitFor(() => running.get(name), { what: `the merge of ${name}`, everyMs: 1 });
    running.delete(name);
    return merge;
  }
  return {
    queue,
    merges,
    givenUp,
    over,
    running: () => [...running.keys()].sort(),
    add(job: number, kind: Kind = 'import', { bytes = 1, ...fields }: Added = {}) {
      queue.add({ marker: markerOf({ job, kind, ...fields }), offset: BigInt(10 * job), bytes });
    },
    /** Ends the merge of these jobs, once it has begun. */
    async finish(...jobs: number[]) {
      const { resolve } = await settle(jobs);
      for (const job of jobs) merged.add(job);
      resolve();
    },
    async fail(error: unknown, ...jobs: number[]) {
      (await settle(jobs)).reject(error);
    },
    untilIdle: () =>
      waitFor(() => queue.oldestOffset() === undefined, { what: 'the last merge', everyMs: 1 }),
  };
}
const LARGE = { bytes: SMALL_BYTES + 1 };
const behind = (...after: number[]) => ({ after });

it('a job waits for those that its marker names', async () => {
  const { add, merges, running, finish, untilIdle } = createScene();
  add(1);
  add(2, 'audience', behind(1));
  add(3, 'audience', behind(1));
  add(4, 'delete', behind(3, 2));
  await turn();
  expect(running()).toEqual(['1']);
  await finish(1);
  await eventually(running).toEqual(['2', '3']);
  await finish(3);
  await turn();
  expect(running()).toEqual(['2']);
  await finish(2);
  await finish(4);
  await untilIdle();
  expect(merges).toEqual([[1], [2], [3], [4]]);
});

it('and for no other: imports, loads, deletions and large ones begin at once', () => {
  const { add, running } = createScene();
  add(1);
  add(2, 'audience');
  add(3, 'delete');
  add(4, 'import', LARGE);
  add(5, 'audience', LARGE);
  add(6, 'delete');
  expect(running()).toEqual(['1', '2', '3', '4', '5', '6']);
});

it('a large merge does not delay small ones, but those behind it', async () => {
  const { queue, add, running, finish, untilIdle } = createScene();
  add(1, 'import', LARGE);
  add(2, 'audience', { ...LARGE, ...behind() });
  add(3, 'import', behind(1));
  for (const job of [4, 6, 8]) {
    add(job);
    add(job + 1, 'audience');
    await finish(job);
    await finish(job + 1);
  }
  await eventually(() => [4, 5, 6, 7, 8, 9].some(queue.has)).toBe(false);
  expect(running()).toEqual(['1', '2']);
  expect(queue.oldestOffset()).toBe(10n);
  await finish(1);
  await finish(3);
  await finish(2);
  await untilIdle();
});

it('imports that wait share a merge, in their order; loads that wait are merged side by side', async () => {
  const { queue, add, merges, running, finish, untilIdle } = createScene();
  add(1);
  add(2, 'audience');
  for (const job of [3, 5, 7]) {
    add(job, 'import', behind(job === 3 ? 1 : job - 2));
    add(job + 1, 'audience');
  }
  expect([8, 9].map(queue.has)).toEqual([true, false]);
  expect(running()).toEqual(['1', '2']);
  await finish(1);
  await finish(3, 5, 7);
  expect(queue.oldestOffset()).toBe(20n);
  await finish(2);
  await eventually(running).toEqual(['4', '6', '8']);
  for (const job of [4, 6, 8]) await finish(job);
  await untilIdle();
  expect(merges.filter((jobs) => jobs.length > 1)).toEqual([[3, 5, 7]]);
});

it('a job that must not share its merge does not, nor does one that is dropped', async () => {
  const { add, merges, finish, untilIdle } = createScene([2, 3]);
  add(1);
  for (const job of [2, 3, 4, 5]) add(job, 'import', behind(job - 1));
  add(6, 'import', { ...behind(5), request: 'drop' });
  for (const jobs of [[1], [2], [3], [4, 5], [6]]) await finish(...jobs);
  await untilIdle();
  expect(merges).toEqual([[1], [2], [3], [4, 5], [6]]);
});

it('imports share a merge as far as they are small together', async () => {
  const { add, finish, untilIdle } = createScene();
  const fit = 4;
  const jobs = Array.from({ length: fit + 1 }, (_, i) => i + 2);
  add(1);
  for (const job of jobs) add(job, 'import', { bytes: SMALL_BYTES / fit });
  await finish(1);
  await finish(...jobs.slice(0, fit));
  await finish(...jobs.slice(fit));
  await untilIdle();
});

it('of imports that fail together, the one is given up that fails alone, three times, with what depends on it', async () => {
  const { queue, add, merges, givenUp, finish, fail, untilIdle } = createScene();
  add(1);
  for (const job of [2, 3]) add(job);
  await finish(1);
  await waitFor(() => merges.length === 2, { what: 'the second merge', everyMs: 1 });
  add(4, 'audience', behind(3));
  add(5, 'import', behind(4, 3));
  add(6, 'audience', behind(2));
  await fail(new Error('one of them'), 2, 3);
  // The error messages differ: they carry tokens and times.
  for (const failure of [1, 2, 3]) await fail(new Error(`failure ${failure}`), 3);
  await eventually(() => [2, 3, 4, 5, 6].filter(queue.has)).toEqual([2, 6]);
  await finish(2);
  await finish(6);
  await untilIdle();
  expect(merges).toEqual([[1], [2, 3], [2], [3], [3], [3], [6]]);
  expect(givenUp).toEqual([[3, 'Error: failure 3']]);
});

it('others go on while one fails', async () => {
  const { add, givenUp, finish, fail, untilIdle } = createScene();
  for (const job of [1, 2, 3]) add(job, 'audience');
  await fail(new Error('first'), 1);
  for (const job of [2, 3]) await finish(job);
  add(4);
  await finish(4);
  await fail(new Error('second'), 1);
  add(5, 'audience');
  await finish(5);
  await finish(1);
  await untilIdle();
  expect(givenUp).toEqual([]);
});

it('what is queued behind a job that is given up stays, if its marker has come again without it', async () => {
  const { queue, add, finish, fail, givenUp, running, untilIdle } = createScene();
  add(1);
  add(2, 'audience', behind(1));
  add(3, 'audience', behind(2));
  queue.renew(markerOf({ job: 2, kind: 'audience', attempt: 1 }));
  await turn();
  expect(running()).toEqual(['1']);
  queue.renew(markerOf({ job: 2, kind: 'audience' }));
  await eventually(running).toEqual(['1', '2']);
  for (const failure of [1, 2, 3]) await fail(new Error(`failure ${failure}`), 1);
  await eventually(() => givenUp.length).toBe(1);
  expect([1, 2, 3].filter(queue.has)).toEqual([2, 3]);
  await finish(2);
  await finish(3);
  await untilIdle();
});

it('failures of one job are none of another, and those before a success do not count', async () => {
  const { add, givenUp, finish, fail, untilIdle } = createScene();
  for (const job of [1, 2, 3]) add(job, 'audience');
  for (const job of [1, 2, 3]) {
    for (let failure = 0; failure < 2; failure++) await fail(new Error('again'), job);
    await finish(job);
  }
  await untilIdle();
  expect(givenUp).toEqual([]);
});

it('what has begun is known', async () => {
  const { queue, add, finish, untilIdle } = createScene();
  add(1);
  add(2, 'audience');
  add(3, 'audience', behind(1));
  expect([1, 2, 3, 4].map(queue.isMerging)).toEqual([true, true, false, false]);
  for (const job of [1, 2, 3]) await finish(job);
  await untilIdle();
  expect([1, 2, 3].map(queue.isMerging)).toEqual([false, false, false]);
});

it('nothing is merged when the assignment is over, and the offsets stay where they are', async () => {
  const { queue, add, merges, givenUp, over, fail } = createScene();
  add(1);
  add(2, 'import', behind(1));
  over.abort();
  await fail(new Error('stopping'), 1);
  add(3, 'delete');
  await turn();
  expect([merges, givenUp, queue.oldestOffset()]).toEqual([[[1]], [], 10n]);
});
