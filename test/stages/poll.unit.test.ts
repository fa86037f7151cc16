import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createPoll } from '../../pipeline/stages/dispatch/poll.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a look that waited long for MongoDB is soon followed by the next', async () => {
  const pauses: number[] = [];
  await new Promise<void>((resolve, reject) => {
    let looks = 0;
    const look = {
      isNeeded: () => looks < 2,
      async look() {
        if (looks++ === 0) vi.advanceTimersByTime(60_000);
        else resolve();
        return false;
      },
    };
    const step = {
      async pause(ms: number) {
        pauses.push(ms);
      },
      signal: new AbortController().signal,
    };
    createPoll(look, step, { onError: reject })();
  });
  expect(Math.max(...pauses)).toBe(1_000);
});

it('looks when there is news, however long it would have paused', async () => {
  vi.useRealTimers();
  let looks = 0;
  let pauses = 0;
  let tell = () => {};
  const { signal } = new AbortController();
  const step = {
    signal,
    // Each look is followed by a pause in proportion to its duration, then by one that lasts until there is news (here: forever).
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
    createPoll(look, step, { listen, onError: reject })();
    tell();
  });
  expect(looks).toBe(3);
});

it('pauses longer after changes that all came with a hint, and briefly again after one without', async () => {
  const pauses: number[] = [];
  let looks = 0;
  let tell = () => {};
  await new Promise<void>((resolve, reject) => {
    const look = {
      isNeeded: () => looks < 10,
      async look() {
        if (++looks === 10) resolve();
        // In time for the next look.
        if (looks < 8) tell();
        return true;
      },
    };
    const step = {
      signal: new AbortController().signal,
      async pause(ms: number) {
        pauses.push(Math.round(ms));
      },
    };
    const listen = (onNews: () => void) => {
      tell = onNews;
    };
    const wake = createPoll(look, step, { listen, onError: reject });
    wake();
    tell();
  });
  expect(pauses.filter((ms) => ms > 0)).toEqual([100, 20]);
});
