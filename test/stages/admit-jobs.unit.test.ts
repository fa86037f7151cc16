/** Every unfinished job enters its lane, once and in order; a job whose message was lost is recovered. */
import { expect, it } from 'vitest';
import { createAdmission } from '../../pipeline/stages/dispatch/admit/admit-jobs.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

interface Given {
  accepted?: number;
  first?: number;
  newest?: number;
  ended?: number[];
  phase?: JobDocument['phase'];
}

function setUp({ accepted = 9, first = 1, newest = 0, ended = [], phase = 'accepted' }: Given = {}) {
  const environment = recordingEnvironment('dispatch');
  const taken: number[] = [];
  let reads = 0;
  let extents = 0;
  const isOpen = (job: number) => !ended.includes(job);
  const scene = {
    accepted,
    /** Called while a message is being published again. */
    onSend() {},
    async unfinishedFrom(from: number, limit: number) {
      reads++;
      const all = Array.from({ length: scene.accepted }, (_, i) => i + 1);
      const found = all.filter((job) => job >= from && isOpen(job)).slice(0, limit);
      return found.map((_id) => aJob({ _id, phase }));
    },
  };
  const { publisher } = environment;
  const admission = createAdmission(
    {
      ...environment,
      publisher: {
        ...publisher,
        send(...args) {
          scene.onSend();
          return publisher.send(...args);
        },
      },
      jobs: {
        async extent() {
          extents++;
          return { first: 1, newest: scene.accepted };
        },
        unfinishedFrom: scene.unfinishedFrom,
      },
    },
    { first, newest, step: environment.step, onJob: ({ _id }) => taken.push(_id) },
  );
  const republished = () => environment.sent.map(({ message }) => (message.value as { job: number }).job);
  return { ...environment, scene, admission, taken, republished, reads: () => reads, extents: () => extents };
}
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

it('each job once and in order, however often and in whatever order its message comes', async () => {
  const { admission, taken, republished } = setUp();
  await Promise.all([1, 2, 2, 1, 3, 5, 4, 5].map((job) => admission.take(job, BigInt(job))));
  expect(taken).toEqual([1, 2, 3, 4, 5]);
  expect(republished()).toEqual([4]);
  expect(admission.next()).toBe(6);
});

it('jobs that have ended are passed over; the others are read many at a time', async () => {
  const ended = [3, ...numbers(150, 160)];
  const { admission, taken, reads } = setUp({ accepted: 250, first: 3, newest: 250, ended });
  for (const job of numbers(3, 250)) await admission.take(job, BigInt(job));
  expect(taken).toEqual(numbers(3, 250).filter((job) => !ended.includes(job)));
  expect(reads()).toBeLessThan(20);
});

it('a new job is read once, which also shows that it was accepted', async () => {
  const { admission, scene, taken, reads, extents } = setUp({ accepted: 0 });
  for (const job of [1, 2, 3]) {
    scene.accepted = job;
    await admission.take(job, BigInt(job));
  }
  expect(taken).toEqual([1, 2, 3]);
  expect([reads(), extents()]).toEqual([3, 0]);
});

it('one that has ended was accepted; one that never was leaves those before it to their messages', async () => {
  const { admission, taken, scene } = setUp({ accepted: 4, ended: [4] });
  await admission.take(4, 4n);
  expect([taken, admission.next()]).toEqual([[1, 2, 3], 5]);
  await admission.take(9, 9n);
  expect(admission.next()).toBe(5);
  scene.accepted = 5;
  await admission.take(5, 5n);
  expect(taken).toEqual([1, 2, 3, 5]);
});

it('offsets stay before the message of the oldest job that has not ended', async () => {
  const { admission } = setUp();
  expect(admission.oldestOffset()).toBeUndefined();
  for (const job of [1, 2, 3]) await admission.take(job, BigInt(10 * job));
  admission.onEnded(2);
  expect(admission.oldestOffset()).toBe(10n);
  admission.onEnded(1);
  expect(admission.oldestOffset()).toBe(30n);
  admission.onEnded(3);
  expect(admission.oldestOffset()).toBeUndefined();
});

it('a later message shows that earlier ones are missing: they are published again, and come first', async () => {
  const { admission, taken, republished } = setUp();
  await admission.take(3, 17n);
  expect(taken).toEqual([1, 2, 3]);
  expect(republished()).toEqual([1, 2]);
});

it('no message is missing of a job that an earlier dispatcher has begun', async () => {
  const { admission, taken, republished } = setUp({ phase: 'listed' });
  await admission.take(3, 17n);
  expect(taken).toEqual([1, 2, 3]);
  expect(republished()).toEqual([]);
});

it('a job counts as seen when it is in its lane, and not while its message is published again', async () => {
  const { admission, scene, taken } = setUp();
  const seen: [number, number][] = [];
  scene.onSend = () => seen.push([admission.next(), taken.length]);
  await admission.take(3, 17n);
  expect(seen).toEqual([
    [1, 0],
    [2, 1],
  ]);
});

it('jobs that no message follows are found by looking', async () => {
  const { admission, taken, republished } = setUp({ accepted: 2 });
  await admission.takeLost();
  await admission.takeLost();
  expect(taken).toEqual([]);
  await admission.takeLost();
  expect([taken, republished()]).toEqual([
    [1, 2],
    [1, 2],
  ]);
  expect(admission.oldestOffset()).toBeUndefined();
});

it('while messages come, none is taken for lost', async () => {
  const { admission, taken, republished } = setUp({ accepted: 3 });
  for (const job of [1, 2, 3]) {
    await admission.takeLost();
    await admission.takeLost();
    await admission.take(job, BigInt(job));
  }
  expect([taken, republished()]).toEqual([[1, 2, 3], []]);
});

it('a message of a job that was never accepted is ignored, and jobs that are accepted later come', async () => {
  const { admission, scene, taken } = setUp({ accepted: 1 });
  await admission.take(5, 0n);
  expect(taken).toEqual([]);
  expect(admission.oldestOffset()).toBeUndefined();
  await admission.take(1, 1n);
  scene.accepted = 2;
  await admission.take(2, 2n);
  expect(taken).toEqual([1, 2]);
});
