/** Jobs of a lane start in order; lanes do not wait for each other and share the window evenly. */
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLanes, type WaitingJob } from '../../pipeline/stages/dispatch/admit/lanes.ts';
import type { Gates, Place } from '../../pipeline/stages/dispatch/turns.ts';

interface AddedJob extends WaitingJob {
  lane: string;
}

interface StartedJob extends AddedJob {
  place: Place;
  /** It came with the job as read; otherwise it is read again. */
  isAsRead: boolean;
  /** Jobs in flight when this one started, in all, and by lane for lanes with pending jobs. */
  inFlight: number;
  pending: Map<string, number>;
  hasEarlierLoadEnded: boolean;
  end(): Promise<void>;
}

function createScene(jobWindow: number) {
  const added: AddedJob[] = [];
  const started: StartedJob[] = [];
  const ended = new Set<number>();
  const isStarted = ({ _id }: AddedJob) => started.some((job) => job._id === _id);
  const inFlight = () => started.filter(({ _id }) => !ended.has(_id));
  const inFlightOf = (lane: string) => inFlight().filter((job) => job.lane === lane).length;
  const pending = () => added.filter((job) => !isStarted(job));

  const lanes = createLanes<AddedJob>({
    jobWindow,
    createGates: () => ({}) as Gates,
    run: (id, place, admitted) =>
      new Promise<void>((resolve) => {
        const job: StartedJob = {
          ...added.find(({ _id }) => _id === id)!,
          place,
          isAsRead: admitted === added.at(-1),
          inFlight: inFlight().length,
          pending: new Map(pending().map(({ lane }) => [lane, inFlightOf(lane)])),
          hasEarlierLoadEnded: false,
          async end() {
            resolve();
            await turn();
          },
        };
        place.earlierLoad?.then(() => {
          job.hasEarlierLoadEnded = true;
        });
        started.push(job);
      }),
    onEnded: (job) => ended.add(job),
  });
  function add(lane: string, audience: number | null = null): void {
    const job = { _id: added.length + 1, lane, audience };
    added.push(job);
    lanes.add(lane, job);
  }
  return { lanes, add, added, started, ended, inFlight, inFlightOf, pending };
}
type Scene = ReturnType<typeof createScene>;

const names = ['a', 'b', 'c', 'd', 'e'];
const ofLane = <Job extends AddedJob>(jobs: Job[], lane: string) => jobs.filter((job) => job.lane === lane);

function expectOrder({ added, started }: Scene): void {
  for (const lane of names) {
    const own = ofLane(started, lane);
    expect(own.map(({ _id }) => _id)).toEqual(
      ofLane(added, lane)
        .slice(0, own.length)
        .map(({ _id }) => _id),
    );
    expect(own.map(({ place }) => place.number)).toEqual(own.map((_, i) => i));
    expect(new Set(own.map(({ place }) => place.gates)).size).toBeLessThanOrEqual(1);
  }
  const gates = new Set(started.map(({ place }) => place.gates));
  expect(gates.size).toBe(new Set(started.map(({ lane }) => lane)).size);
}

function expectRoom({ inFlight, inFlightOf, pending }: Scene, jobWindow: number): void {
  const count = inFlight().length;
  expect(count).toBeLessThanOrEqual(2 * jobWindow);
  const waiting = new Set(pending().map(({ lane }) => lane));
  if (waiting.size > 0) expect(count).toBeGreaterThanOrEqual(jobWindow);
  if (count < 2 * jobWindow) for (const lane of waiting) expect(inFlightOf(lane)).toBeGreaterThan(0);
}

function expectEvenService({ started }: Scene, jobWindow: number): void {
  for (const { lane, inFlight, pending } of started) {
    expect(pending.get(lane)).toBe(Math.min(...pending.values()));
    if (inFlight >= jobWindow) expect(pending.get(lane)).toBe(0);
  }
  // Fairness: a lane with nothing in flight is passed over at most once by each other lane.
  for (const [i, { lane, pending }] of started.entries()) {
    for (const other of names) {
      if (other === lane || pending.get(other) !== 0) continue;
      const next = started.slice(i + 1).find((job) => job.lane === lane || job.lane === other);
      if (next?.lane === lane) expect(next.pending.get(other)).toBeUndefined();
    }
  }
}

function expectFirsts({ lanes, added, ended, inFlight }: Scene): void {
  const unfinished = added.filter(({ _id }) => !ended.has(_id));
  expect(lanes.oldest()).toBe(unfinished[0]?._id);
  const firsts = new Set(names.map((lane) => ofLane(unfinished, lane)[0]?._id));
  const running = new Set(inFlight().map(({ _id }) => _id));
  const found = added.filter(({ _id }) => lanes.isFirst(_id));
  expect(found).toEqual(added.filter(({ _id }) => running.has(_id) && firsts.has(_id)));
}

function expectLoadsToWait({ started, ended }: Scene): void {
  for (const [i, { lane, audience, place, hasEarlierLoadEnded }] of started.entries()) {
    const before = started.slice(0, i).findLast((job) => job.lane === lane && job.audience === audience);
    if (audience === null || !before) expect(place.earlierLoad).toBeUndefined();
    else if (place.earlierLoad) expect(hasEarlierLoadEnded).toBe(ended.has(before._id));
    else expect(ended.has(before._id)).toBe(true);
  }
}

const command = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      lane: fc.constantFrom(...names),
      audience: fc.option(fc.integer({ min: 1, max: 2 })),
    }),
  },
  { weight: 2, arbitrary: fc.record({ end: fc.nat() }) },
);

it('whatever comes and ends, in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(command, { maxLength: 50 }),
      async (jobWindow, commands) => {
        const scene = createScene(jobWindow);
        for (const one of commands) {
          if ('lane' in one) scene.add(one.lane, one.audience);
          else {
            const running = scene.inFlight();
            await running[one.end % running.length]?.end();
          }
          expectRoom(scene, jobWindow);
          expectFirsts(scene);
          expectLoadsToWait(scene);
        }
        expectOrder(scene);
        expectEvenService(scene, jobWindow);
        for (let one = scene.inFlight()[0]; one; one = scene.inFlight()[0]) await one.end();
        expect(scene.started).toHaveLength(scene.added.length);
        expect(scene.lanes.oldest()).toBeUndefined();
      },
    ),
  );
});

it('200 lanes with ten jobs each: at no time has one ended fewer than half the mean', async () => {
  const [count, each] = [200, 10];
  const running: { lane: number; end(): void }[] = [];
  const endedOf = new Array<number>(count).fill(0);
  const lanes = createLanes({
    jobWindow: 64,
    createGates: () => ({}) as Gates,
    run: (id) => new Promise((end) => running.push({ lane: (id - 1) % count, end })),
    onEnded: () => {},
  });
  for (let id = 1; id <= count * each; id++) lanes.add(`p-${(id - 1) % count}`, { _id: id, audience: null });
  for (let ended = 1; ended <= count * each; ended++) {
    const { lane, end } = running.shift()!;
    endedOf[lane]!++;
    end();
    await turn();
    expect(Math.min(...endedOf)).toBeGreaterThanOrEqual(Math.floor(ended / count / 2));
  }
  expect(endedOf).toEqual(endedOf.map(() => each));
});

it('a lane that fills the window does not keep another from starting, nor from its share of what follows', async () => {
  const scene = createScene(4);
  for (let i = 0; i < 100; i++) scene.add('a');
  expect(scene.inFlightOf('a')).toBe(4);
  for (let i = 0; i < 100; i++) scene.add('b');
  expect([scene.inFlightOf('a'), scene.inFlightOf('b')]).toEqual([4, 1]);
  for (let i = 0; i < 60; i++) await scene.inFlight()[0]!.end();
  expect([scene.inFlightOf('a'), scene.inFlightOf('b')]).toEqual([2, 2]);
  const shares = ['a', 'b'].map((lane) => ofLane(scene.started, lane).length);
  expect(Math.abs(shares[0]! - shares[1]!)).toBeLessThanOrEqual(4);
});

it('a job that starts at once starts as it was read; one that has waited is read again', async () => {
  const { add, started } = createScene(1);
  for (const lane of ['a', 'a', 'b', 'a']) add(lane);
  expect(started.map(({ _id, isAsRead }) => [_id, isAsRead])).toEqual([
    [1, true],
    [3, true],
  ]);
  for (let n = 0; n < started.length; n++) await started[n]!.end();
  expect(started.slice(2).map(({ _id, isAsRead }) => [_id, isAsRead])).toEqual([
    [2, false],
    [4, false],
  ]);
});
