/** Saves tables of the page as CSV files. */
import { type CsvCell, csvLineOf } from '../../schemas/csv.ts';

/** Saves a blob under this name. */
export function save(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function saveCsv(
  name: string,
  header: readonly string[],
  rows: readonly (readonly CsvCell[])[],
): void {
  const text = [header, ...rows].map(csvLineOf).join('');
  save(new Blob([text], { type: 'text/csv;charset=utf-8' }), `${name}.csv`);
}

/** `Spring campaign visitors` becomes `spring-campaign-visitors`. */
export const fileNameOf = (...words: string[]): string =>
  words
    .join(' ')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '') || 'table';
