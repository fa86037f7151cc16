/** A live line on standard error, on terminals only. */
import { isInteractive, printable, printLines } from '../../pipeline/runtime/terminal.ts';

export interface ProgressLine {
  show(text: string): void;
  clear(): void;
  /** Replaces the live line with a permanent one. */
  settle(text: string): void;
}

const eraseLine = '\r\x1b[2K';
const BAR_WIDTH = 24;

export function createProgressLine(output: NodeJS.WriteStream = process.stderr): ProgressLine {
  if (!isInteractive(output)) return { show: () => {}, clear: () => {}, settle: () => {} };
  let shown = '';
  const clear = () => {
    if (shown !== '') output.write(eraseLine);
    shown = '';
  };
  return {
    show(text) {
      // Cut, because a wrapped line could not be erased.
      const line = printable(text).slice(0, (output.columns || 80) - 1);
      if (line !== shown) output.write(`${eraseLine}${line}`);
      shown = line;
    },
    clear,
    settle(text) {
      clear();
      void printLines(output, [printable(text)]);
    },
  };
}

/** null: the total is not known yet. */
export function bar(fraction: number | null): string {
  if (fraction === null) return '';
  const full = Math.floor(fraction * BAR_WIDTH);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${String(Math.floor(fraction * 100)).padStart(3)}%`;
}

export const joined = (...parts: string[]): string => parts.filter((part) => part !== '').join(' · ');
