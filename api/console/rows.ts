/** Search and sort of table rows. */
export type SortValue = string | number | null;
export type Direction = 'ascending' | 'descending';

const names = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

function compare(a: SortValue, b: SortValue): number {
  if (typeof a === 'string' && typeof b === 'string') return names.compare(a, b);
  return Number(a) - Number(b);
}

/** Stable; hidden values (null) come last in either direction. */
export function sortRows<T>(rows: readonly T[], value: (row: T) => SortValue, direction: Direction): T[] {
  const sign = direction === 'ascending' ? 1 : -1;
  return rows
    .map((row) => ({ row, key: value(row) }))
    .sort((a, b) => {
      if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null);
      return sign * compare(a.key, b.key);
    })
    .map(({ row }) => row);
}

export const foldCase = (text: string): string => text.normalize('NFKC').toLowerCase();

/** `texts` are case-folded once, not at each keystroke. */
export function searchRows<T>(rows: readonly T[], texts: readonly string[], search: string): readonly T[] {
  const wanted = foldCase(search.trim());
  return wanted === '' ? rows : rows.filter((_, at) => texts[at]!.includes(wanted));
}
