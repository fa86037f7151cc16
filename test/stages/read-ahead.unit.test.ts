import { expect, it } from 'vitest';
import { createReadAhead } from '../../pipeline/stages/dispatch/load/read-ahead.ts';

function setUp(maxBytes: number) {
  let oldest = 1;
  const readAhead = createReadAhead(maxBytes, (job) => job === oldest);
  const ends = new Map<number, () => void>();
  const load = (job: number, bytes: number) =>
    readAhead.use(job, bytes, () => new Promise<void>((resolve) => ends.set(job, resolve)));
  return {
    ...readAhead,
    load: (job: number, bytes: number) => void load(job, bytes),
    /** Jobs that have begun to load. */
    async begun() {
      await new Promise((resolve) => setImmediate(resolve));
      return [...ends.keys()];
    },
    async end(job: number) {
      ends.get(job)!();
      oldest = job + 1;
      await new Promise((resolve) => setImmediate(resolve));
      readAhead.admit();
    },
  };
}

it('admits jobs while their bytes fit, and the oldest in any case', async () => {
  const { load, begun, end } = setUp(100);
  load(1, 500);
  load(2, 10);
  expect(await begun()).toEqual([1]);
  await end(1);
  load(3, 80);
  load(4, 20);
  expect(await begun()).toEqual([1, 2, 3]);
  await end(2);
  expect(await begun()).toEqual([1, 2, 3, 4]);
});

it('what jobs unpack to counts as it appears: those that outgrow the room wait, but for the oldest', async () => {
  const { load, begun, grow, mustWait, end } = setUp(100);
  for (const job of [1, 2, 3]) load(job, 20);
  const waiting = () => [1, 2, 3, 4].filter(mustWait);
  grow(2, 60);
  expect(waiting()).toEqual([]);
  load(4, 1);
  expect(await begun()).toEqual([1, 2, 3]);
  grow(1, 1_000);
  // Job 3 has not outgrown the bytes it was admitted with, so it goes on.
  expect(waiting()).toEqual([2]);
  await end(1);
  expect(await begun()).toEqual([1, 2, 3, 4]);
  grow(2, 2_000);
  grow(3, 30);
  expect(waiting()).toEqual([3]);
  await end(2);
  expect(waiting()).toEqual([]);
});
