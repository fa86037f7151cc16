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
        return false;
      },
    };
    const step = {
      async pause(ms: number) {
        pauses.push(ms);
        if (looks === 2) resolve();
      },
      signal: new AbortController().signal,
    };
    createPoll([look], step, reject)();
  });
  expect(pauses[0]).toBeLessThanOrEqual(1_000);
});
