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
    createPoll([look], recordedStep('dispatch'), reject)();
  });
  expect(looked[1]! - looked[0]!).toBeLessThan(3_000);
});
