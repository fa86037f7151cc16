/** The funnel of an audience's rows: read, accepted, distinct, matched. Accounts for every row. */
import type { Audience, FileReport } from '../client/types.ts';
import { isOpen } from '../client/words.ts';

export interface Funnel {
  rows: number;
  rejected: Record<string, number>;
  rejectedRows: number;
  /** Valid rows in failed files, which are not loaded at all. */
  rowsInFailedFiles: number;
  /** Valid rows of files already read, in unfinished loads. */
  rowsNotMerged: number;
  uploaded: number;
  repeated: number;
  unique: number;
}

export function sumRejects(parts: (Record<string, number> | null)[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const part of parts)
    for (const [code, rows] of Object.entries(part ?? {})) sums[code] = (sums[code] ?? 0) + rows;
  return sums;
}

export const totalRejects = (rejected: Record<string, number>): number =>
  Object.values(rejected).reduce((sum, rows) => sum + rows, 0);

export function funnelOf(
  files: FileReport[],
  {
    uploaded_devices: uploaded,
    unique_devices: unique,
  }: Pick<Audience, 'uploaded_devices' | 'unique_devices'>,
): Funnel {
  const read = files.filter(({ status }) => !isOpen(status));
  const sum = (value: (file: FileReport) => number) => read.reduce((total, file) => total + value(file), 0);
  const rows = sum((file) => file.rows);
  const rejected = sumRejects(read.map((file) => file.rows_rejected));
  const rejectedRows = totalRejects(rejected);
  const rowsInFailedFiles = sum((file) => (file.status === 3 ? file.rows_accepted : 0));
  return {
    rows,
    rejected,
    rejectedRows,
    rowsInFailedFiles,
    rowsNotMerged: Math.max(0, rows - rejectedRows - rowsInFailedFiles - uploaded),
    uploaded,
    repeated: Math.max(0, uploaded - unique),
    unique,
  };
}

/** null if `whole` is 0. */
export const shareOf = (part: number, whole: number): number | null =>
  whole > 0 ? Math.min(1, part / whole) : null;
