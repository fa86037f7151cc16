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
  const signals = new Map<number, Promise<never>>();

  function signalAt(time: number): Promise<never> {
    const step = Math.ceil(time / STEP_MS);
    const known = signals.get(step);
    if (known) return known;
    const signal = new Promise<never>((_, reject) => {
      const fire = () => {
        signals.delete(step);
        reject(late());
      };
      setTimeout(fire, step * STEP_MS - performance.now()).unref();
    });
    signal.catch(() => {});
    signals.set(step, signal);
    return signal;
  }

  return async (ctx, work) => {
    const { state } = ctx;
    const begin = performance.now();
    const running = work();
    let over = false;
    const limited = signalAt(begin + limitMs + GRACE_MS - state.backendMs).catch((error) => {
      if (over || state.accepting) return running;
      state.givenUp = true;
      throw error;
    });
    try {
      await Promise.race([running, limited]);
    } finally {
      over = true;
      state.backendMs += performance.now() - begin;
    }
  };
}
