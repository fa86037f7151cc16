/** Human-readable numbers. */
export const count = (number: number): string => Math.round(number).toLocaleString('en-US');
export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
export const seconds = (value: number): string => `${value.toFixed(2)} s`;
export const share = (part: number, whole: number): string =>
  `${whole > 0 ? ((100 * part) / whole).toFixed(0) : 0} %`;

/** Columns as wide as their widest cell; numbers are right-aligned. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]!.length))) ?? [];
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  return rows.map((row) => `  ${line(row)}`);
}
