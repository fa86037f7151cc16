/**
 * The output of the demo: clack's frame on a terminal, plain lines otherwise. clack's spinner is not used, because it exits at
 * once on Ctrl-C, and the demo has servers to stop first.
 */
import { stripVTControlCharacters } from 'node:util';
import { intro, log, outro } from '@clack/prompts';
import { createProgressLine } from '../cli/progress-line.ts';

export interface Screen {
  open(title: string): void;
  step(line: string): void;
  done(line: string): void;
  failed(line: string): void;
  /** On a terminal, replaces the last progress line; otherwise, prints a line when the text has changed. */
  progress(line: string): void;
  panel(title: string, lines: readonly string[]): void;
  plain(lines: readonly string[]): void;
  close(line: string): void;
}

function terminalScreen(output: NodeJS.WriteStream): Screen {
  const live = createProgressLine(output);
  const after =
    <A extends unknown[]>(show: (...args: A) => void) =>
    (...args: A) => {
      live.clear();
      show(...args);
    };
  return {
    open: after((title) => intro(title)),
    step: after((line) => log.step(line, { spacing: 0 })),
    done: after((line) => log.success(line, { spacing: 0 })),
    failed: after((line) => log.error(line, { spacing: 0 })),
    progress: (line) => live.show(`│  ${line}`),
    // Not clack's note, which breaks a long key into two lines.
    panel: after((title, lines) => log.step([title, ...lines].join('\n'), { spacing: 1 })),
    plain: after((lines) => output.write(`\n${lines.join('\n')}\n\n`)),
    close: after((line) => outro(line)),
  };
}

function lineScreen(output: NodeJS.WritableStream): Screen {
  const say = (line: string) => {
    output.write(`${stripVTControlCharacters(line)}\n`);
  };
  let last = '';
  return {
    open: say,
    step: say,
    done: say,
    failed: say,
    progress(line) {
      if (line !== last) say(line);
      last = line;
    },
    panel: (title, lines) => [`${title}:`, ...lines.map((line) => `  ${line}`)].forEach(say),
    plain: (lines) => ['', ...lines, ''].forEach(say),
    close: say,
  };
}

export function createScreen(output: NodeJS.WriteStream): Screen {
  return output.isTTY ? terminalScreen(output) : lineScreen(output);
}
