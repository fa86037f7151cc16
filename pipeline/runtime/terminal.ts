/** Printing for a person at a terminal and for a program behind a pipe: colours, columns, a reader that has gone away. */
import { once } from 'node:events';
import { stripVTControlCharacters, styleText } from 'node:util';

type Output = NodeJS.WritableStream & Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'hasColors'>>;

export const isInteractive = (stream: Output): boolean => stream.isTTY === true;

const styles = ['bold', 'dim', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan'] as const;
export type Paint = Record<(typeof styles)[number], (text: string) => string>;

/** Colours for a terminal that has them; without one, or with NO_COLOR, the text as it is. */
export function paint(stream: Output): Paint {
  const isColoured = isInteractive(stream) && !process.env.NO_COLOR && (stream.hasColors?.() ?? false);
  const painter = (style: (typeof styles)[number]) => (text: string) =>
    // Newer versions of Node would look at stdout again, whatever the stream.
    isColoured ? styleText(style, text, { validateStream: false }) : text;
  return Object.fromEntries(styles.map((style) => [style, painter(style)])) as Paint;
}

/**
 * Whoever read our output has had enough (`| head`): the end of the command, and no failure. A command that has something to put
 * in order first gives what to do instead of exiting.
 */
export function endSilentlyOnClosedPipe(onClosed: () => void = () => process.exit(0)): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    onClosed();
  });
  // Messages that nobody reads are not worth failing for.
  process.stderr.on('error', () => {});
}

/** Resolves when the reader is ready for more, so that what is printed does not pile up in memory. */
export async function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}

/** What partners wrote, such as a raw row, must not command the terminal: control characters are shown as \x1b and so on. */
export const printable = (text: string): string =>
  text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    /[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => {
      const code = character.charCodeAt(0);
      return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
    },
  );

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
