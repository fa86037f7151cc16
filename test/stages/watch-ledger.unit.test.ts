import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createLedgerWatch, type WatchDependencies } from '../../pipeline/stages/dispatch/watch-ledger.ts';
import { SLOTS } from '../../schemas/topics.ts';

it('a question that waited long for MongoDB is soon asked again', async () => {
  const asked: number[] = [];
  const acks = {
    async countByJob() {
      asked.push(performance.now());
      if (asked.length > 1) return new Map([[1, SLOTS]]);
      await sleep(1_500);
      asked[0] = performance.now();
      return new Map([[1, 0]]);
    },
  };
  const deps = { retry: (_: string, attempt: () => Promise<unknown>) => attempt(), acks };
  const watch = createLedgerWatch(
    deps as unknown as WatchDependencies,
    new AbortController().signal,
    (error) => {
      throw error;
    },
  );
  await watch.commit(1);
  expect(asked[1]! - asked[0]!).toBeLessThan(3_000);
});
