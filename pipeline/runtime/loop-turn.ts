import { setImmediate } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/**
 * Await this between the pieces of long synchronous work. Each piece, of any task, then runs in its own iteration of the event loop, with
 * pending I/O handled in between.
 */
export function nextTurn(): Promise<void> {
  last = last.then(() => setImmediate());
  return last;
}
