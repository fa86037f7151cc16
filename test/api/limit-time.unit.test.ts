/** The time limit around all handlers: it never fails a request whose job is being queued, and nothing is queued after a failure. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Context } from '../../api/http/context.ts';
import { beginAccepting, createLimitTime, stopIfGivenUp } from '../../api/http/limit-time.ts';

const LIMIT_MS = 100;
/** The limit's grace period and polling step come on top. */
const LATE_MS = LIMIT_MS + 1_500;
const request = () => ({ state: { begunAt: 0, backendMs: 0 } }) as unknown as Context;
const limit = createLimitTime(LIMIT_MS);
const unavailable = { code: 'unavailable', status: 503 };

describe.concurrent('a request', () => {
  it('that was given up queues nothing and changes nothing', async () => {
    const ctx = request();
    let after: unknown[] = [];
    const work = async () => {
      await sleep(LATE_MS);
      after = [() => stopIfGivenUp(ctx), () => beginAccepting(ctx)].map((step) => {
        try {
          step();
          return 'went on';
        } catch (error) {
          return (error as { code: string }).code;
        }
      });
    };
    let working: Promise<void> | undefined;
    const answered = limit(ctx, () => {
      working = work();
      return working;
    });
    await expect(answered).rejects.toMatchObject(unavailable);
    await working;
    expect(after).toEqual(['unavailable', 'unavailable']);
  });

  it('whose job is being queued gets the queue’s answer, however late', async () => {
    const ctx = request();
    let queued = false;
    await limit(ctx, async () => {
      beginAccepting(ctx);
      await sleep(LATE_MS);
      queued = true;
    });
    expect(queued).toBe(true);
  });

  it('whose first part was in time is not given up while its body is read', async () => {
    const ctx = request();
    await limit(ctx, async () => {});
    await sleep(LATE_MS);
    await limit(ctx, async () => beginAccepting(ctx));
  });

  it('has one limit for all of its parts', async () => {
    const ctx = request();
    await limit(ctx, async () => void (await sleep(1_000)));
    await expect(limit(ctx, async () => void (await sleep(1_000)))).rejects.toMatchObject(unavailable);
  });
});
