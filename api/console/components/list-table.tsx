import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../../client/format.ts';

export interface ListColumn<T> {
  label: string;
  cell: (row: T) => ComponentChildren;
  isNumber?: boolean;
  /** The cell that names the row. */
  isName?: boolean;
}

interface Props<T> {
  caption: string;
  columns: ListColumn<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string | number;
  isStale?: boolean;
  /** Rows shown at first, and added by each "Show more". */
  step?: number;
}

const STEP = 100;

/** A table with rows of any height. On a narrow screen each row becomes a card, labelled by `data-label`. */
export function ListTable<T>({ caption, columns, rows, rowKey, isStale, step = STEP }: Props<T>) {
  const [limit, setLimit] = useState(step);
  return (
    <>
      <table class="list" aria-busy={isStale}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ label, isNumber }) => (
              <th key={label} scope="col" class={isNumber ? 'numbers' : ''}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, limit).map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ label, cell, isNumber, isName }) =>
                isName ? (
                  <th key={label} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={label} data-label={label} class={isNumber ? 'numbers' : ''}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > limit && (
        <button type="button" class="more" onClick={() => setLimit(limit + step)}>
          Show more ({count(limit)} of {count(rows.length)} shown)
        </button>
      )}
    </>
  );
}
