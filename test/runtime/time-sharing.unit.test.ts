/** On a fake clock that only work advances. */
import { describe, expect, it } from 'vitest';
import { createTimeSharing, type TimeSharingOptions } from '../../pipeline/runtime/time-sharing.ts';

interface Work {
  steps: number;
  stepMs: number;
}

function createWorld(options: TimeSharingOptions = {}) {
  let clock = 0;
  const sharing = createTimeSharing({ now: () => clock, ...options });
  return {
    sharing,
    async work({ steps, stepMs }: Work): Promise<number> {
      const begun = clock;
      const share = await sharing.join();
      for (let step = 0; step < steps; step++) {
        clock += stepMs;
        await share.pause();
      }
      share.end();
      return clock - begun;
    },
  };
}

async function another({ work }: ReturnType<typeof createWorld>, count: number, each: Work): Promise<void> {
  for (let i = 0; i < count; i++) await work(each);
}

describe('beside 25 computations of another, one after the other,', () => {
  const own = { steps: 16, stepMs: 100 };
  const alone = own.steps * own.stepMs;

  for (const each of [
    own,
    { steps: 16, stepMs: 220 },
    { steps: 1_000, stepMs: 100 },
    { steps: 400, stepMs: 1 },
  ])
    it(`of ${each.steps} steps of ${each.stepMs} ms, one takes at most twice as long and a step`, async () => {
      const world = createWorld();
      const others = another(world, 25, each);
      expect(await world.work(own)).toBeLessThanOrEqual(2 * alone + each.stepMs + own.stepMs);
      await others;
    });
});

it('one that comes later is level with the others, and not ahead by what they have worked', async () => {
  const world = createWorld();
  const first = world.work({ steps: 100, stepMs: 10 });
  const second = world.work({ steps: 10, stepMs: 10 });
  expect(await second).toBeLessThanOrEqual(220);
  const third = world.work({ steps: 1_000, stepMs: 10 });
  expect(await first).toBeLessThanOrEqual(2_000 + 110);
  await third;
});

it('one that does not pause holds up nobody', async () => {
  const { sharing } = createWorld({ overdueMs: 1 });
  const stuck = await sharing.join();
  const other = await sharing.join();
  await other.pause();
  let hasGoneOn = false;
  const goingOn = stuck.pause().then(() => {
    hasGoneOn = true;
  });
  await Promise.resolve();
  other.end();
  await goingOn;
  expect(hasGoneOn).toBe(true);
  stuck.end();
  (await sharing.join()).end();
});
