/** Prints rejected rows, or writes them to a file to correct and load. */

import { open, rm, writeFile } from 'node:fs/promises';
import { readLines, readText } from '../../../api/client/client.ts';
import { count } from '../../../api/client/format.ts';
import { lineToCorrect, noRows, type RowsToCorrect } from '../../../api/client/rows-to-correct.ts';
import type { RejectedRow } from '../../../api/client/types.ts';
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

export async function* linesToCorrect(
  rows: AsyncIterable<RejectedRow>,
  counts: RowsToCorrect,
): AsyncGenerator<string> {
  for await (const row of rows) {
    const line = lineToCorrect(row, counts);
    if (line !== '') yield line;
  }
}

export async function saveRejects(
  openRejects: () => Promise<Response>,
  output: string,
): Promise<RowsToCorrect> {
  const counts = noRows();
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
