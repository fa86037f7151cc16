import { expect, it } from 'vitest';
import { GROUP_BYTES } from '../../pipeline/stages/sink/merge-jobs.ts';
import { createMergeQueue } from '../../pipeline/stages/sink/merge-queue.ts';
import type { JobMarker } from '../../schemas/topics.ts';
import { markerOf } from '../support/markers.ts';

type Kind = JobMarker['kind'];

/** A queue whose merges end when they are told to. */
function createScene(suspects: number[] = []) {
  const merges: number[][] = [];
  const givenUp: [number, string][] = [];
  const over = new AbortController();
  let settle: { resolve(): void; reject(error: unknown): void } | undefined;
  const queue = createMergeQueue({
    merge(markers) {
      merges.push(markers.map(({ job }) => job));
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
      });
    },
    isAlone: ({ job }) => suspects.includes(job),
    onFailure: () => {},
    isInSequence: ({ previous }) => previous === 0 || queue.has(previous),
    onGivenUp: async ({ job }, reason) => void givenUp.push([job, reason]),
    pause: async () => {},
    signal: over.signal,
  });
  const add = (job: number, kind: Kind = 'import', { bytes = 1, previous = 0 } = {}) =>
    queue.add({ marker: markerOf({ job, kind, previous }), offset: BigInt(10 * job), bytes });
  const untilMerges = async (count: number) => {
    while (merges.length < count) await new Promise(setImmediate);
  };
  return {
    queue,
    add,
    merges,
    givenUp,
    over,
    finish: () => settle!.resolve(),
    fail: (error: unknown) => settle!.reject(error),
    untilMerges,
  };
}

it('a job that must not share its merge does not', async () => {
  const { queue, add, merges, finish, untilMerges } = createScene([2, 3]);
  for (const job of [1, 2, 3, 4, 5]) add(job);
  for (let done = 1; done <= 4; done++) {
    await untilMerges(done);
    finish();
  }
  await queue.idle();
  expect(merges).toEqual([[1], [2], [3], [4, 5]]);
});

it('imports that wait share a merge, anything else is merged alone, and all of it in order', async () => {
  const { queue, add, merges, finish, untilMerges } = createScene();
  add(1);
  for (const job of [2, 3]) add(job);
  add(4, 'audience');
  add(5, 'delete');
  for (const job of [6, 7]) add(job);
  expect([7, 8].map(queue.has)).toEqual([true, false]);
  for (const [done, oldest] of [10n, 20n, 40n, 50n, 60n].entries()) {
    await untilMerges(done + 1);
    expect(queue.oldestOffset()).toBe(oldest);
    finish();
  }
  await queue.idle();
  expect(merges).toEqual([[1], [2, 3], [4], [5], [6, 7]]);
  expect(queue.oldestOffset()).toBeUndefined();
});

it('imports share a merge as far as they are small together', async () => {
  const { queue, add, merges, finish, untilMerges } = createScene();
  add(1);
  for (const job of [2, 3, 4]) add(job, 'import', { bytes: GROUP_BYTES / 2 });
  add(5, 'import', { bytes: 2 * GROUP_BYTES });
  for (const done of [1, 2, 3, 4]) {
    await untilMerges(done);
    finish();
  }
  await queue.idle();
  expect(merges).toEqual([[1], [2, 3], [4], [5]]);
});

it('of imports that fail together, the one is given up that fails alone, three times, and what must come behind it', async () => {
  const { queue, add, merges, givenUp, finish, fail, untilMerges } = createScene();
  for (const job of [1, 2, 3]) add(job);
  finish();
  await untilMerges(2);
  add(4, 'audience', { previous: 3 });
  add(5, 'audience', { previous: 4 });
  add(6, 'audience');
  fail(new Error('one of them'));
  await untilMerges(3);
  finish();
  // Messages differ: they carry tokens and times.
  for (const failure of [1, 2, 3]) {
    await untilMerges(3 + failure);
    expect(queue.oldestOffset()).toBe(30n);
    fail(new Error(`failure ${failure}`));
  }
  await untilMerges(7);
  expect([3, 4, 5, 6].filter(queue.has)).toEqual([6]);
  expect(queue.oldestOffset()).toBe(60n);
  finish();
  await queue.idle();
  expect(merges).toEqual([[1], [2, 3], [2], [3], [3], [3], [6]]);
  expect(givenUp).toEqual([[3, 'Error: failure 3']]);
});

it('what is queued behind a job that is given up stays, if its marker has come again without it', async () => {
  const { queue, add, merges, finish, fail, untilMerges } = createScene();
  add(1);
  add(2, 'audience', { previous: 1 });
  add(3, 'audience', { previous: 2 });
  queue.renew(markerOf({ job: 2, kind: 'audience', previous: 0 }));
  for (const failure of [1, 2, 3]) {
    await untilMerges(failure);
    fail(new Error('again'));
  }
  for (const done of [4, 5]) {
    await untilMerges(done);
    finish();
  }
  await queue.idle();
  expect(merges).toEqual([[1], [1], [1], [2], [3]]);
});

it('failures before a success do not count', async () => {
  const { queue, add, givenUp, finish, fail, untilMerges } = createScene();
  for (const job of [1, 2, 3]) add(job, 'audience');
  for (let done = 0; done < 3; done++) {
    await untilMerges(2 * done + 1);
    fail(new Error('once'));
    await untilMerges(2 * done + 2);
    finish();
  }
  await queue.idle();
  expect([givenUp, queue.oldestOffset()]).toEqual([[], undefined]);
});

it('nothing is merged when the assignment is over, and the offsets stay where they are', async () => {
  const { queue, add, merges, givenUp, over, fail } = createScene();
  add(1);
  add(2);
  over.abort();
  fail(new Error('stopping'));
  await queue.idle();
  expect([merges, givenUp, queue.oldestOffset()]).toEqual([[[1]], [], 10n]);
});
