/**
 * The overall time limit of a request, as a backstop for the limits of its steps. Reading the body has a limit of its own.
 *
 * A request that got an error never queues a job: either it timed out here and its job is not queued, or its job is being queued and
 * the queue, with its own deadline, decides the response.
 */
import type { Context } from './context.ts';
import { unavailable } from './problem.ts';

/** The limits of the steps must fire first: withdrawing a job may take another second. */
const GRACE_MS = 1_100;
/** Requests that expire in the same 200 ms share a timer: one per request would be too expensive. */
const STEP_MS = 200;

const late = () => unavailable('A backend did not respond in time. Retry shortly.');

/** Call it right before a write. */
export function stopIfGivenUp({ state }: Context): void {
  if (state.givenUp) throw late();
}

/** Call it right before a job is queued. From here on the queue decides the response. */
export function beginAccepting(ctx: Context): void {
  stopIfGivenUp(ctx);
  ctx.state.accepting = true;
}

type LimitTime = (ctx: Context, work: (ctx: Context) => Promise<void>) => Promise<void>;

export function createLimitTime(limitMs: number): LimitTime {
  const steps = new Map<number, Set<() => void>>();

  /** The requests that expire in the same step as this time. */
  function waitingAt(time: number): Set<() => void> {
    const step = Math.ceil(time / STEP_MS);
    const known = steps.get(step);
    if (known) return known;
    const waiting = new Set<() => void>();
    const end = () => {
      steps.delete(step);
      for (const giveUp of waiting) giveUp();
    };
    setTimeout(end, step * STEP_MS - performance.now()).unref();
    steps.set(step, waiting);
    return waiting;
  }

  return (ctx, work) =>
    new Promise((resolve, reject) => {
      const { state } = ctx;
      const begin = performance.now();
      const waiting = waitingAt(begin + limitMs + GRACE_MS - state.backendMs);
      const giveUp = () => {
        if (state.accepting) return;
        state.givenUp = true;
        reject(late());
      };
      waiting.add(giveUp);
      const done = () => {
        waiting.delete(giveUp);
        state.backendMs += performance.now() - begin;
      };
      work(ctx).then(
        () => {
          done();
          resolve();
        },
        (error: unknown) => {
          done();
          reject(error);
        },
      );
    });
}
