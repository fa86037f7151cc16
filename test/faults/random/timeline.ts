/** The log of a random run: every event as a line of JSON in a file, and a short line on the terminal now and then. */
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Timeline {
  readonly file: string;
  note(event: string, details?: object): void;
  /** Writes to the terminal and to the file. */
  tell(line: string): void;
}

export function createTimeline(directory: string): Timeline {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'timeline.jsonl');
  const began = performance.now();
  const seconds = () => Math.round(performance.now() - began) / 1_000;
  const note = (event: string, details: object = {}) =>
    appendFileSync(file, `${JSON.stringify({ s: seconds(), event, ...details })}\n`);
  return {
    file,
    note,
    tell(line) {
      const at = Math.floor(seconds());
      const clock = `${String(Math.floor(at / 60)).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}`;
      process.stdout.write(`${clock}  ${line}\n`);
      note('told', { line });
    },
  };
}
