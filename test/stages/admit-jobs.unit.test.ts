/** Jobs are admitted in the order of their numbers, a window at a time; one whose message is lost is found. */
import { expect, it } from 'vitest';
import {
  type AdmissionDependencies,
  createAdmission,
} from '../../pipeline/stages/dispatch/admit/admit-jobs.ts';
import { eventually } from '../support/eventually.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

function setUp({ accepted = 9, jobWindow = 3, deferred = [] as number[] } = {}) {
  const environment = recordingEnvironment('dispatch');
  const running = new Map<number, { end(): void; afterLoad: boolean }>();
  const begun: number[] = [];
  const jobs = Array.from({ length: accepted }, (_, i) => aJob({ _id: i + 1, audience: i % 2 ? 2 : null }));
  const admission = createAdmission(
    {
      ...environment,
      jobs: {
        range: async (first: number, last: number) => jobs.filter(({ _id }) => _id >= first && _id <= last),
      },
      jobWindow,
    } as unknown as AdmissionDependencies,
    {
      first: 1,
      step: environment.step,
      run: ({ _id }, earlierLoad) =>
        new Promise<void>((resolve) => {
          begun.push(_id);
          running.set(_id, { end: resolve, afterLoad: earlierLoad !== undefined });
        }),
      defer: async ({ _id }) => deferred.includes(_id),
      onEnded: () => {},
    },
  );
  return { ...environment, admission, running, begun };
}

it('waits for room in the window, and keeps the order', async () => {
  const { admission, running, begun } = setUp();
  const taken = Promise.all([1, 2, 3, 4, 5].map((job) => admission.take(job, BigInt(job))));
  await eventually(() => begun).toEqual([1, 2, 3]);
  expect(admission.oldestOffset()).toBe(1n);
  running.get(2)!.end();
  await eventually(() => begun).toEqual([1, 2, 3, 4]);
  expect(admission.isOldest(1)).toBe(true);
  running.get(1)!.end();
  await taken;
  expect(begun).toEqual([1, 2, 3, 4, 5]);
  expect(admission.oldestOffset()).toBe(3n);
});

it('a load knows the load before it of the same audience', async () => {
  const { admission, running } = setUp({ jobWindow: 9 });
  await admission.take(4, 4n);
  expect([...running].map(([job, { afterLoad }]) => [job, afterLoad])).toEqual([
    [1, false],
    [2, false],
    [3, false],
    [4, true],
  ]);
});

it('a later message shows that earlier ones are missing: they are published again, and run first', async () => {
  const { admission, begun, actions, sent } = setUp();
  await admission.take(3, 17n);
  expect(begun).toEqual([1, 2, 3]);
  expect(actions).toEqual(['republish', 'republish']);
  expect(sent.map(({ message }) => (message.value as { job: number }).job)).toEqual([1, 2]);
});

it('jobs that no message follows are found by looking', async () => {
  const { admission, begun } = setUp({ accepted: 2 });
  await admission.takeLost();
  await admission.takeLost();
  expect(begun).toEqual([]);
  await admission.takeLost();
  expect(begun).toEqual([1, 2]);
});

it('deferred jobs are passed over: they take no room, and their messages need not be read again', async () => {
  const { admission, begun } = setUp({ accepted: 6, jobWindow: 2, deferred: [1, 2, 4] });
  for (const job of [1, 2, 3, 4, 5]) await admission.take(job, BigInt(job));
  expect(begun).toEqual([3, 5]);
  expect(admission.oldestOffset()).toBe(3n);
  expect([...admission.inFlight()]).toEqual([
    [3, 3n],
    [5, 5n],
  ]);
});

it('a number that nobody accepted is passed over', async () => {
  const { admission, begun } = setUp({ accepted: 1 });
  await admission.take(5, 0n);
  expect(begun).toEqual([1]);
});
