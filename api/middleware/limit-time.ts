/** Whatever a backend does, the client gets an answer: this is the net below the limits of the single steps. */
import type { Middleware } from '../context.ts';
import { unavailable } from '../problem.ts';

/** The steps' own limits come first: a job being accepted may need another second to be taken back. */
const GRACE_MS = 1_100;
/** One timer for all that began in the same fifth of a second: a timer each costs more than the requests it guards. */
const STEP_MS = 200;

export function createLimitTime(limitMs: number): Middleware {
  let current: { until: number; late: Promise<never> } | undefined;

  function lateSignal(): Promise<never> {
    const now = performance.now();
    if (current && now < current.until) return current.late;
    const late = new Promise<never>((_, reject) => {
      setTimeout(
        () => reject(unavailable('A part of the service does not answer. Try again shortly.')),
        limitMs + GRACE_MS + STEP_MS,
      ).unref();
    });
    late.catch(() => {});
    current = { until: now + STEP_MS, late };
    return late;
  }

  return (_ctx, next) => Promise.race([next(), lateSignal()]);
}
