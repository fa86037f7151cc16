/**
 * Buffers log lines for 10 ms and writes them to stdout at once. pino's destination handles each line separately: it measures the whole
 * buffer again and wakes another thread, which under load costs more than formatting the line.
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
    // pino escapes like JSON, which leaves control characters above U+007E unescaped.
    if (text !== '') stdout.write(printableLines(text));
  }

  /** Called by pino after a fatal line, before the process exits. */
  function flushSync(): void {
    write();
    stdout.flushSync();
  }

  // Run before pino's listener, which closes its destination.
  process.prependListener('exit', flushSync);
  return {
    write(line) {
      if (lines === '') setTimeout(write, GATHER_MS);
      lines += line;
    },
    flushSync,
  };
}
