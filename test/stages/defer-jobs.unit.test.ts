/** The jobs of a space behind a stopped one wait for it, in their order, however long; what comes meanwhile waits with them. */
import { expect, it } from 'vitest';
import {
  createDeferredJobs,
  type DeferredDependencies,
} from '../../pipeline/stages/dispatch/admit/defer-jobs.ts';
import type { Gates } from '../../pipeline/stages/dispatch/turns.ts';
import type { FileFailure, JobDocument } from '../../schemas/documents.ts';
import { eventually } from '../support/eventually.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

const imported = (_id: number, fields: Partial<JobDocument> = {}) =>
  aJob({ _id, kind: 'import', audience: null, generation: null, deferred: true, ...fields });

function setUp(documents: JobDocument[], { jobWindow = 9, earlier = false } = {}) {
  const environment = recordingEnvironment('dispatch');
  const step = Object.assign(environment.step, { pause: () => new Promise<void>((go) => setImmediate(go)) });
  const byId = new Map(documents.map((job) => [job._id, job]));
  const set = (id: number, fields: Partial<JobDocument>) => byId.set(id, { ...byId.get(id)!, ...fields });
  const running = new Map<number, { number: number; afterLoad: boolean; end(): void }>();
  const begun: number[] = [];
  const held: number[] = [];
  let cleared: FileFailure | undefined;
  let hasEarlier = earlier;
  const lanes = createDeferredJobs(
    {
      jobWindow,
      cancellationOf: async () => cleared,
      quotas: { hold: ({ _id }: JobDocument) => held.push(_id) },
      jobs: {
        find: async (id: number) => byId.get(id)!,
        defer: async (id: number) => set(id, { deferred: true }),
        drop: async ({ _id }: JobDocument) =>
          set(_id, { stoppedAt: undefined as never, dropRequested: true }),
        hasEarlierInSpace: async () => hasEarlier,
      },
    } as unknown as DeferredDependencies,
    {
      step,
      deferred: documents,
      createGates: () => ({}) as Gates,
      run: ({ _id }, { number, earlierLoad }) =>
        new Promise<void>((end) => {
          begun.push(_id);
          running.set(_id, { number, afterLoad: earlierLoad !== undefined, end });
        }),
      onError: (error) => {
        throw error;
      },
    },
  );
  return {
    ...environment,
    lanes,
    begun,
    held,
    running,
    set,
    add: (job: JobDocument) => {
      byId.set(job._id, job);
      return lanes.take(job);
    },
    clear(failure: FileFailure) {
      cleared = failure;
    },
    endEarlier() {
      hasEarlier = false;
    },
  };
}
const stoppedAt = new Date();
const turns = () => new Promise<void>((go) => setTimeout(go, 5));

it('nothing of a space runs behind its stopped job until that goes on; another space is not concerned', async () => {
  const load = (_id: number, fields = {}) => aJob({ _id, audience: 5, deferred: true, ...fields });
  const { lanes, begun, held, running, set, add } = setUp([
    imported(10, { stoppedAt }),
    imported(11),
    load(12, { stoppedAt }),
    load(13),
  ]);
  expect(await add(imported(14, { deferred: undefined as never }))).toBe(true);
  expect(await lanes.take(aJob({ _id: 15, audience: 6 }))).toBe(false);
  await turns();
  expect(begun).toEqual([]);
  expect(held).toEqual([10, 11, 12, 13, 14]);
  set(10, { stoppedAt: undefined as never });
  await eventually(() => begun).toEqual([10, 11, 14]);
  expect([10, 11, 14].map((id) => running.get(id)!.number)).toEqual([1, 2, 3]);
  expect([lanes.isFirst(10), lanes.isFirst(11)]).toEqual([true, false]);
  set(12, { stoppedAt: undefined as never });
  await eventually(() => begun.slice(3)).toEqual([12, 13]);
  expect([running.get(12)!.afterLoad, running.get(13)!.afterLoad]).toEqual([false, true]);
});

it('when its last job has ended, the space is in the order of all jobs again', async () => {
  const { lanes, running, begun, add } = setUp([imported(10), imported(11)], { jobWindow: 1 });
  await eventually(() => begun).toEqual([10]);
  expect(await add(imported(12))).toBe(true);
  // Found again by the search for lost messages.
  expect(await lanes.take(imported(12))).toBe(true);
  for (const id of [10, 11, 12]) {
    await eventually(() => running.has(id)).toBe(true);
    running.get(id)!.end();
  }
  await turns();
  expect(begun).toEqual([10, 11, 12]);
  expect(await lanes.take(imported(13))).toBe(false);
});

it('waits for earlier jobs of the space that are not deferred', async () => {
  const { begun, endEarlier } = setUp([imported(10)], { earlier: true });
  await turns();
  expect(begun).toEqual([]);
  endEarlier();
  await eventually(() => begun).toEqual([10]);
});

it('a clear of its audience drops a stopped load', async () => {
  const { begun, actions, clear } = setUp([aJob({ _id: 10, audience: 5, stoppedAt, deferred: true })]);
  await turns();
  expect(begun).toEqual([]);
  clear({ code: 'cancelled', message: 'it was cleared' });
  await eventually(() => begun).toEqual([10]);
  expect(actions).toContain('attempt');
});
