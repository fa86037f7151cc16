import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createPoll } from '../../pipeline/stages/dispatch/poll.ts';
import { recordedStep } from '../support/recorded-step.ts';

it('a look that waited long for MongoDB is soon followed by the next', async () => {
  const looked: number[] = [];
  await new Promise<void>((resolve, reject) => {
    const look = {
      isNeeded: () => looked.length < 2,
      async look() {
        if (looked.length === 0) await sleep(1_500);
        looked.push(performance.now());
        if (looked.length === 2) resolve();
        return false;
      },
    };
    createPoll([look], recordedStep('dispatch'), { onError: reject })();
  });
  expect(looked[1]! - looked[0]!).toBeLessThan(3_000);
});

it('looks when there is news, however long it would have paused', async () => {
  let looks = 0;
  let pauses = 0;
  let tell = () => {};
  const { signal } = new AbortController();
  const step = {
    signal,
    // After a look it pauses for as long as that took two times, and then, without end here, until there is news.
    pause: () => (pauses++ === 0 ? Promise.resolve() : new Promise<never>(() => {})),
  };
  await new Promise<void>((resolve, reject) => {
    const look = {
      isNeeded: () => looks < 3,
      async look() {
        pauses = 0;
        if (++looks === 3) resolve();
        setImmediate(tell);
        return false;
      },
    };
    const listen = (onNews: () => void) => {
      tell = onNews;
    };
    createPoll([look], step, { listen, onError: reject })();
    tell();
  });
  expect(looks).toBe(3);
});
