/** Printing for a person at a terminal and for a program behind a pipe: colours, columns, a reader that has gone away. */
import { once } from 'node:events';
import { stripVTControlCharacters, styleText } from 'node:util';

export type Output = NodeJS.WritableStream & Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'hasColors'>>;

export const isInteractive = (stream: Output): boolean => stream.isTTY === true;

const styles = ['bold', 'dim', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan'] as const;
export type Paint = Record<(typeof styles)[number], (text: string) => string>;

const isColoured = (stream: Output): boolean =>
  isInteractive(stream) && !process.env.NO_COLOR && (stream.hasColors?.() ?? false);

/** Colours for a terminal that has them; without one, or with NO_COLOR, the text as it is. */
export function paint(stream: Output): Paint {
  const hasColours = isColoured(stream);
  const painter = (style: (typeof styles)[number]) => (text: string) =>
    // Newer versions of Node would look at stdout again, whatever the stream.
    hasColours ? styleText(style, text, { validateStream: false }) : text;
  return Object.fromEntries(styles.map((style) => [style, painter(style)])) as Paint;
}

let onClosedPipe: (() => void) | undefined;

/** A reader that closes the pipe early (`| head`) ends the command without an error. A later call replaces what happens then. */
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

/** Resolves when the reader is ready for more, so that what is printed does not pile up in memory. */
async function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}

/** Control characters, those that change the direction of text, and line separators. */
const commanding = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
const commandingLine = /[^\n\P{Cc}]|[\p{Bidi_Control}\u2028\u2029]/gu;
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** What partners wrote, such as a raw row, must not command the terminal: control characters are shown as \u001b and so on. */
export const printable = (text: string): string => text.replace(commanding, escaped);

/** Of several lines: they stay lines. */
export const printableLines = (text: string): string => text.replace(commandingLine, escaped);

// biome-ignore lint/suspicious/noControlCharactersInRegex: those of `paint`, and no others.
const ownStyle = /(\x1b\[(?:1|2|22|3[1-6]|39)m)/;

/** Everything that a command prints for a person goes through here: of what is in a line, only our own colours have an effect. */
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

/** For a program, and still harmless on a terminal: JSON leaves the control characters above U+007E as they are. */
export const toJsonLine = (value: unknown): string => `${printable(JSON.stringify(value))}\n`;

export const printJson = (stream: Output, value: unknown): Promise<void> => write(stream, toJsonLine(value));

/** Data in a format of its own, such as CSV: exact in a pipe; on a terminal, only its lines are kept. */
export const printData = (stream: Output, text: string): Promise<void> =>
  write(stream, isInteractive(stream) ? printableLines(text.replaceAll('\r\n', '\n')) : text);

const widthOf = (text: string) => stripVTControlCharacters(text).length;

/** Lines with aligned columns. Colours do not count as width; the columns named by number are aligned to the right. */
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
