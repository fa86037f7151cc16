import { setImmediate } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/**
 * For work of many milliseconds, to be awaited between its pieces: each piece gets a turn of the event loop to itself, whoever asks for it,
 * and what has come from outside meanwhile is handled between any two.
 */
export function nextTurn(): Promise<void> {
  last = last.then(() => setImmediate());
  return last;
}
