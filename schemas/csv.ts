/** Lines of CSV tables (RFC 4180), written by the API and the console. A hidden count is an empty cell. */
export type CsvCell = string | number | null | undefined;

/** Prevents formula injection: an apostrophe makes a spreadsheet treat the cell as text. */
const defused = (text: string) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const textOf = (cell: CsvCell) => (typeof cell === 'string' ? quoted(defused(cell)) : String(cell ?? ''));

export const csvLineOf = (cells: readonly CsvCell[]): string => `${cells.map(textOf).join(',')}\r\n`;
