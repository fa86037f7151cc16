/** The registry of row formats. A new row format is a file and an entry here. */
import { byName, uncompressedName } from './compressions.ts';
import { type Cut, createRowCutter, type ResumePoint, type RowCutter } from './cut-rows.ts';
import { type BatchToParse, type ParsedRows, type ParseOptions, parseRows } from './parse-rows.ts';

export type { ParsedRows } from './parse-rows.ts';

export interface RowFormat {
  readonly name: string;
  /** With the dot, as in `.jsonl`; a compression's extension may follow. */
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

/** A file with no known extension is delimited text. */
export const rowFormats: RowFormat[] = [delimitedText];
export const rowFormatOf = (path: string): RowFormat =>
  byName(rowFormats, uncompressedName(path)) ?? delimitedText;

/** The fields that the ledger stores for a batch, so that its row format can resume after it. */
export function placeOf({ batch, last, start, end, first_line, lines, delimiter }: Cut) {
  return { batch, last, start, end, firstLine: first_line, lines, delimiter };
}
