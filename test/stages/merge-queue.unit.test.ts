import { expect, it } from 'vitest';
import { GROUP_BYTES } from '../../pipeline/stages/sink/merge-jobs.ts';
import { createMergeQueue } from '../../pipeline/stages/sink/merge-queue.ts';
import type { CommitMarker } from '../../schemas/topics.ts';
import { markerOf } from '../support/markers.ts';

type Kind = CommitMarker['kind'];

/** A queue whose merges end when they are told to. */
function createScene() {
  const merges: number[][] = [];
  const failures: unknown[] = [];
  let settle: { resolve(): void; reject(error: unknown): void } | undefined;
  const queue = createMergeQueue(
    (markers) => {
      merges.push(markers.map(({ job }) => job));
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
      });
    },
    (error) => failures.push(error),
  );
  const add = (job: number, kind: Kind = 'import', bytes = 1) =>
    queue.add({ marker: markerOf({ job, kind }), offset: BigInt(10 * job), bytes });
  const untilMerges = async (count: number) => {
    while (merges.length < count) await new Promise(setImmediate);
  };
  return {
    queue,
    add,
    merges,
    failures,
    finish: () => settle!.resolve(),
    fail: (error: unknown) => settle!.reject(error),
    untilMerges,
  };
}

it('imports that wait share a merge, anything else is merged alone, and all of it in order', async () => {
  const { queue, add, merges, finish, untilMerges } = createScene();
  add(1);
  for (const job of [2, 3]) add(job);
  add(4, 'audience');
  add(5, 'delete');
  for (const job of [6, 7]) add(job);
  expect(queue.lastJob()).toBe(7);
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
  for (const job of [2, 3, 4]) add(job, 'import', GROUP_BYTES / 2);
  add(5, 'import', 2 * GROUP_BYTES);
  for (const done of [1, 2, 3, 4]) {
    await untilMerges(done);
    finish();
  }
  await queue.idle();
  expect(merges).toEqual([[1], [2, 3], [4], [5]]);
});

it('nothing is merged behind a merge that failed, and the offsets stay where they are', async () => {
  const { queue, add, merges, failures, fail } = createScene();
  add(1);
  add(2);
  fail(new Error('no'));
  await queue.idle();
  add(3);
  expect([merges, failures]).toEqual([[[1]], [new Error('no')]]);
  expect(queue.oldestOffset()).toBe(10n);
});
