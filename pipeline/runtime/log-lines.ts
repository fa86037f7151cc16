/**
 * Writes log lines to stdout, those of ten milliseconds in one piece. pino's own destination takes each line by itself, measures all
 * that waits to be written again for each, and wakes another thread for each write: under load that costs more than making the line.
 */
import { type DestinationStream, pino } from 'pino';
import { printableLines } from './terminal.ts';

const GATHER_MS = 10;

export function createLogLines(): DestinationStream & { flushSync(): void } {
  const stdout = pino.destination({ sync: false });
  let lines = '';

  function write(): void {
    const text = lines;
    lines = '';
    // pino escapes as JSON does, which leaves control characters above U+007E as they are.
    if (text !== '') stdout.write(printableLines(text));
  }

  /** pino calls it after a fatal line: the process is about to exit. */
  function flushSync(): void {
    write();
    stdout.flushSync();
  }

  // Before pino's own listener, which closes its destination.
  process.prependListener('exit', flushSync);
  return {
    write(line) {
      if (lines === '') setTimeout(write, GATHER_MS);
      lines += line;
    },
    flushSync,
  };
}
