/** Lines of the CSV table of a report. */
import { type CsvCell, csvLineOf } from '../../../schemas/csv.ts';

const columns = [
  'section',
  'id',
  'name',
  'owner',
  'visibility',
  'devices',
  'share',
  'index',
  'rows',
  'share_of_other',
] as const;

export type CsvRow = Partial<Record<(typeof columns)[number], CsvCell>>;

export const csvLine = (row: CsvRow) => csvLineOf(columns.map((column) => row[column]));
export const csvHeader = csvLineOf(columns);
