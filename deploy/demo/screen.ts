/** The output of the demo: lines, and on a terminal a live line of progress. */
import { paint, printLines } from '../../pipeline/runtime/terminal.ts';
import { createProgressLine } from '../cli/progress-line.ts';

export type Screen = ReturnType<typeof createScreen>;

export function createScreen(output: NodeJS.WriteStream) {
  const live = createProgressLine(output);
  const { bold, green, red } = paint(output);
  let last = '';
  const say = (...lines: string[]) => {
    live.clear();
    void printLines(output, lines.join('\n').split('\n'));
  };
  return {
    say: (line: string) => say(line),
    done: (line: string) => say(green(line)),
    failed: (line: string) => say(red(line)),
    /** On a terminal, replaces the last progress line; otherwise, prints a line when the text has changed. */
    progress(line: string) {
      if (output.isTTY) live.show(line);
      else if (line !== last) say(line);
      last = line;
    },
    panel: (title: string, lines: readonly string[]) =>
      say('', bold(`${title}:`), ...lines.map((line) => `  ${line}`)),
    /** Without a frame or an indent, so that commands can be copied. */
    commands: (lines: readonly string[]) => say('', ...lines, ''),
  };
}
