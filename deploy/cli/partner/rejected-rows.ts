/** Rejected rows: shown, or written to a file in the form in which they can be corrected and loaded. */

import { open, rm, writeFile } from 'node:fs/promises';
import { readLines, readText } from '../../../api/client/client.ts';
import { count } from '../../../api/client/format.ts';
import type { RejectedRow } from '../../../api/client/types.ts';
import { detectDelimiter } from '../../../pipeline/formats/head.ts';
import { printable, printData, printLines } from '../../../pipeline/runtime/terminal.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import type { CommandContext } from './run-command.ts';

export async function printRejects({ isJson, colours }: CommandContext, response: Response): Promise<void> {
  if (isJson) return passOn(response);
  for await (const { file, line, code, raw, truncated, omitted } of readLines<RejectedRow>(response)) {
    const place = colours.dim(`${printable(file)}:${line}`);
    const row = `${place}  ${colours.yellow(code)}  ${printable(raw)}${truncated ? ' …' : ''}`;
    const more = omitted ? [`${colours.dim(printable(file))}  … and ${count(omitted)} more`] : [];
    await printLines(process.stdout, [row, ...more]);
  }
}

interface SavedRejects {
  rows: number;
  truncated: number;
  omitted: number;
}

/** The service finds the delimiter in the first line, and a rejected row is a bad place to look: a header has it for sure. */
function headerLike(raw: string): string {
  const bytes = Buffer.from(raw);
  return `device_id${String.fromCharCode(detectDelimiter(bytes, 0, bytes.length))}key`;
}

/** Skips truncated rows: they would load as different rows. */
export async function* linesToCorrect(
  rows: AsyncIterable<RejectedRow>,
  counts: SavedRejects,
): AsyncGenerator<string> {
  for await (const { raw, truncated, omitted = 0 } of rows) {
    counts.omitted += omitted;
    if (truncated) {
      counts.truncated++;
      continue;
    }
    if (counts.rows === 0) yield `${headerLike(raw)}\n`;
    counts.rows++;
    yield `${raw}\n`;
  }
}

export async function saveRejects(
  openRejects: () => Promise<Response>,
  output: string,
): Promise<SavedRejects> {
  const counts: SavedRejects = { rows: 0, truncated: 0, omitted: 0 };
  // Never overwrite: an existing file may have corrections.
  const file = await open(output, 'wx').catch((error: Error) => {
    throw new CommandError(exitCodes.failed, 'unwritable', error.message);
  });
  try {
    await writeFile(file, linesToCorrect(readLines<RejectedRow>(await openRejects()), counts));
  } catch (error) {
    await rm(output, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return counts;
}

export async function passOn(response: Response): Promise<void> {
  let last = '';
  for await (const text of readText(response)) {
    if (text === '') continue;
    await printData(process.stdout, text);
    last = text;
  }
  if (last !== '' && !last.endsWith('\n')) await printData(process.stdout, '\n');
}
