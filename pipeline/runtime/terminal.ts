/** Prints for a person at a terminal or a program behind a pipe: colours, columns, closed pipes. */
import { once } from 'node:events';
import { stripVTControlCharacters, styleText } from 'node:util';

export type Output = NodeJS.WritableStream & Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'hasColors'>>;

export const isInteractive = (stream: Output): boolean => stream.isTTY === true;

const styles = ['bold', 'dim', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan'] as const;
export type Paint = Record<(typeof styles)[number], (text: string) => string>;

const isColoured = (stream: Output): boolean =>
  isInteractive(stream) && !process.env.NO_COLOR && (stream.hasColors?.() ?? false);

/** Colours if the stream is a terminal that supports them and NO_COLOR is unset; otherwise plain text. */
export function paint(stream: Output): Paint {
  const hasColours = isColoured(stream);
  const painter = (style: (typeof styles)[number]) => (text: string) =>
    // Newer Node versions would validate stdout, whatever the stream.
    hasColours ? styleText(style, text, { validateStream: false }) : text;
  return Object.fromEntries(styles.map((style) => [style, painter(style)])) as Paint;
}

let onClosedPipe: (() => void) | undefined;

/** A reader that closes the pipe early (`| head`) ends the command without an error. A later call replaces the handler. */
export function endSilentlyOnClosedPipe(onClosed: () => void = () => process.exit(0)): void {
  if (onClosedPipe === undefined) {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      onClosedPipe?.();
    });
    process.stderr.on('error', () => {});
  }
  onClosedPipe = onClosed;
}

/** Backpressure: resolves when the reader is ready for more. */
async function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}

/** Control characters, bidirectional controls and line separators. */
const commanding = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
const commandingLine = /[^\n\P{Cc}]|[\p{Bidi_Control}\u2028\u2029]/gu;
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Text from partners, such as a raw row, must not control the terminal: control characters are printed as \u001b and so on. */
export const printable = (text: string): string => text.replace(commanding, escaped);

/** Like `printable`, but keeps line breaks. */
export const printableLines = (text: string): string => text.replace(commandingLine, escaped);

// biome-ignore lint/suspicious/noControlCharactersInRegex: only the codes of `paint`.
const ownStyle = /(\x1b\[(?:1|2|22|3[1-6]|39)m)/;

/** All output of commands for people. Escapes everything in a line except our own colours. */
export function printLines(stream: Output, lines: readonly string[]): Promise<void> {
  const shown = (line: string) =>
    isColoured(stream)
      ? line
          .split(ownStyle)
          .map((part, i) => (i % 2 === 1 ? part : printable(part)))
          .join('')
      : printable(line);
  return write(stream, lines.map((line) => `${shown(line)}\n`).join(''));
}

/** For programs. Escapes the control characters above U+007E that JSON leaves alone, so it is safe on a terminal. */
export const toJsonLine = (value: unknown): string => `${printable(JSON.stringify(value))}\n`;

export const printJson = (stream: Output, value: unknown): Promise<void> => write(stream, toJsonLine(value));

/** Data such as CSV: byte-exact in a pipe; on a terminal, control characters except line breaks are escaped. */
export const printData = (stream: Output, text: string): Promise<void> =>
  write(stream, isInteractive(stream) ? printableLines(text.replaceAll('\r\n', '\n')) : text);

const widthOf = (text: string) => stripVTControlCharacters(text).length;

/** Aligns columns. Colours do not count as width; the columns in `right` are right-aligned. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell));
  return rows.map((row) =>
    row
      .map((cell, i) => {
        const gap = ' '.repeat(widths[i]! - widthOf(cell));
        return right.includes(i) ? gap + cell : cell + gap;
      })
      .join('  ')
      .trimEnd(),
  );
}
