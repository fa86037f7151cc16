/** Progress on stderr: one live line on a terminal, otherwise a line every few seconds. */
const eraseLine = '\r\x1b[2K';
const plainEveryMs = 2_000;

export interface Progress {
  /** A completed step; its line stays. */
  step(line: string): void;
  /** The current progress; the next line replaces it. */
  live(line: string): void;
}

export function createProgress(output: NodeJS.WriteStream = process.stderr): Progress {
  let shown = false;
  let lastAt = 0;
  return {
    step(line) {
      output.write(`${shown ? eraseLine : ''}${line}\n`);
      shown = false;
      lastAt = performance.now();
    },
    live(line) {
      if (output.isTTY) {
        output.write(eraseLine + line.slice(0, (output.columns || 80) - 1));
        shown = true;
      } else if (performance.now() - lastAt >= plainEveryMs) {
        output.write(`${line}\n`);
        lastAt = performance.now();
      }
    },
  };
}
