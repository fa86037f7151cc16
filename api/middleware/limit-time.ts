/**
 * Whatever a backend does, the client gets an answer: this is the net below the limits of the single steps. The reading of a
 * body is not under it: that is the client's time, and has a limit of its own.
 *
 * Nothing is accepted for a request that was answered with an error: either the net has given the request up, and then its job
 * is not queued any more; or its job is being queued, and then the answer is the queue's, which has limits of its own.
 */
import type { Context } from '../context.ts';
import { unavailable } from '../problem.ts';

/** The steps' own limits come first: a job being accepted may need another second to be withdrawn. */
const GRACE_MS = 1_100;
/** One timer for all that end in the same fifth of a second: a timer each costs more than the requests it guards. */
const STEP_MS = 200;

const late = () => unavailable('A part of the service does not answer. Try again shortly.');

/** To be called right before something is changed. */
export function stopIfGivenUp({ state }: Context): void {
  if (state.givenUp) throw late();
}

/** To be called right before something is queued. From here on the answer is what the queue says. */
export function beginAccepting(ctx: Context): void {
  stopIfGivenUp(ctx);
  ctx.state.accepting = true;
}

export type LimitTime = (ctx: Context, work: () => Promise<void>) => Promise<void>;

export function createLimitTime(limitMs: number): LimitTime {
  const steps = new Map<number, Set<() => void>>();

  /** Who waits for the step of time that ends then. */
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

  return ({ state }, work) =>
    new Promise((resolve, reject) => {
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
      work().then(
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
