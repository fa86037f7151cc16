/** Lines of the CSV table of a report (RFC 4180). A hidden count is an empty cell. */
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

type Cell = string | number | null | undefined;
export type CsvRow = Partial<Record<(typeof columns)[number], Cell>>;

/** A spreadsheet must not take a name for a formula: an apostrophe makes it text. */
const defused = (text: string) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const cellOf = (cell: Cell) => (typeof cell === 'string' ? quoted(defused(cell)) : String(cell ?? ''));

export const csvLine = (row: CsvRow) => `${columns.map((column) => cellOf(row[column])).join(',')}\r\n`;
export const csvHeader = `${columns.join(',')}\r\n`;
