/** Rejected rows as lines to correct and load again. */
import { detectDelimiter } from '../../pipeline/formats/head.ts';
import type { RejectedRow } from './types.ts';

export interface RowsToCorrect {
  rows: number;
  /** Too long to be stored whole: they would load as different rows. */
  truncated: number;
  /** Rejected, but not stored. */
  omitted: number;
}

export const noRows = (): RowsToCorrect => ({ rows: 0, truncated: 0, omitted: 0 });

/** The service detects the delimiter in the first line. A rejected row may lack it, so a header comes first. */
function headerLike(raw: string): string {
  const bytes = new TextEncoder().encode(raw);
  return `device_id${String.fromCharCode(detectDelimiter(bytes, 0, bytes.length))}key`;
}

/** The lines of one row, after a header if it is the first; empty for a row that was cut. */
export function lineToCorrect({ raw, truncated, omitted = 0 }: RejectedRow, counts: RowsToCorrect): string {
  counts.omitted += omitted;
  if (truncated) {
    counts.truncated++;
    return '';
  }
  counts.rows++;
  return counts.rows === 1 ? `${headerLike(raw)}\n${raw}\n` : `${raw}\n`;
}
