import { setImmediate } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/**
 * Await this between the pieces of long synchronous work. Each piece, whichever task it belongs to, then runs in its own iteration of the
 * event loop, and pending I/O is handled between any two.
 */
export function nextTurn(): Promise<void> {
  last = last.then(() => setImmediate());
  return last;
}
