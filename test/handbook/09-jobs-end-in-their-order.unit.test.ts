/**
 * 9. Jobs run concurrently, but a partner's jobs end in order: they form a lane. The lane's sequencer releases numbers in order and
 *    without gaps, in whatever order they arrive. Markers and ends of jobs pass through it, so a deletion removes what earlier jobs
 *    added and nothing that later jobs add.
 */
import { expect, it } from 'vitest';
import { createSequencer } from '../../pipeline/stages/dispatch/sequencer.ts';

function setUp(first: number) {
  const passed: number[][] = [];
  const over = new AbortController();
  const ends = createSequencer(first, over.signal, async (jobs: number[]) => {
    passed.push(jobs);
    return jobs.map((job) => `job ${job} ended`);
  });
  return { passed, over, end: (job: number) => ends.pass(job, job) };
}

it('the third job is ready first: it waits, and then all that are ready pass at once', async () => {
  const { passed, end } = setUp(1);
  const third = end(3);
  const second = end(2);
  expect(passed).toEqual([]);
  expect(await end(1)).toBe('job 1 ended');
  expect(await Promise.all([second, third])).toEqual(['job 2 ended', 'job 3 ended']);
  expect(passed.flat()).toEqual([1, 2, 3]);
});

it('begins with the number that it is given', async () => {
  const { end } = setUp(40);
  expect(await end(40)).toBe('job 40 ended');
});

it('when its term is over, nobody waits any longer', async () => {
  const { over, end } = setUp(1);
  const waiting = end(2);
  over.abort(new Error('the partition was taken away'));
  await expect(waiting).rejects.toThrow('the partition was taken away');
});
