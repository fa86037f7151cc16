/** The row formats: how the rows of a file are found, and what they say. A new one is a file and an entry here. */
import { byName, uncompressedName } from './compressions.ts';
import { type Cut, createRowCutter, type ResumePoint, type RowCutter } from './cut-rows.ts';
import { type BatchToParse, type ParsedRows, type ParseOptions, parseRows } from './parse-rows.ts';

export type { ParsedRows } from './parse-rows.ts';

export interface RowFormat {
  readonly name: string;
  /** What the names of such files end in, before the extension of a compression. */
  readonly extensions: readonly string[];
  createCutter(batchBytes: number, resume: ResumePoint | null): RowCutter;
  parse(batch: BatchToParse, options: ParseOptions): ParsedRows;
}

const delimitedText: RowFormat = {
  name: 'delimited text',
  extensions: [],
  createCutter: createRowCutter,
  parse: parseRows,
};

/** Files whose name does not say otherwise are delimited text. */
export const rowFormats: RowFormat[] = [delimitedText];
export const rowFormatOf = (path: string): RowFormat =>
  byName(rowFormats, uncompressedName(path)) ?? delimitedText;

/** Where a batch stands in its file, as the ledger keeps it: for its row format, to go on behind it. */
export function placeOf({ batch, last, start, end, first_line, lines, delimiter }: Cut) {
  return { batch, last, start, end, firstLine: first_line, lines, delimiter };
}
