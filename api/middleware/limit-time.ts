/** Whatever a backend does, the client gets an answer: this is the net below the limits of the single steps. */
import type { Middleware } from '../context.ts';
import { unavailable } from '../problem.ts';

/** The steps' own limits come first: a job being accepted may need another second to be taken back. */
const GRACE_MS = 1_300;

export function createLimitTime(limitMs: number): Middleware {
  return async (_ctx, next) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(unavailable('A part of the service does not answer. Try again shortly.')),
        limitMs + GRACE_MS,
      );
    });
    try {
      await Promise.race([next(), late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
