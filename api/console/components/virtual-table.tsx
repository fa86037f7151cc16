import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, plural } from '../../client/format.ts';
import { saveCsv } from '../csv.ts';
import { usePrinting } from '../hooks.ts';
import { type Direction, foldCase, type SortValue, searchRows, sortRows, windowOf } from '../rows.ts';

export interface Column<T> {
  id: string;
  label: string;
  cell: (row: T) => ComponentChildren;
  sortBy: (row: T) => SortValue;
  isNumber?: boolean;
  /** What the column means, on hover. */
  hint?: string;
}

interface Props<T> {
  caption: string;
  columns: Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string | number;
  /** The text that search matches; without it there is no search. */
  searchText?: (row: T) => string;
  /** What a row is, such as `attribute`. */
  noun: string;
  nouns?: string;
  /** The name of its CSV file. */
  file: string;
}

/** As in the style sheet (--row-height). With a fixed height, positions need no measuring. */
const ROW_HEIGHT = 40;
const SEARCH_FROM = 8;
/** Only the first rows are printed; the CSV file has all. */
const PRINTED = 40;

/** The part of the scrolled region that is in view. */
function useView(rows: number) {
  const region = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 480 });
  useLayoutEffect(() => {
    const element = region.current!;
    const update = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const resized = new ResizeObserver(update);
    resized.observe(element);
    element.addEventListener('scroll', update, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', update);
    };
  }, []);
  const isPrinting = usePrinting();
  const inView = windowOf({ ...view, rowHeight: ROW_HEIGHT }, rows);
  return { region, isPrinting, ...(isPrinting ? { first: 0, end: Math.min(PRINTED, rows) } : inView) };
}

const Spacer = ({ rows, columns }: { rows: number; columns: number }) =>
  rows > 0 ? (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: not focusable; it fills the space of rows that are not rendered
    <tr class="spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * ROW_HEIGHT}px` }} />
    </tr>
  ) : null;

/** A table that renders only the rows in view; aria-rowcount and aria-rowindex describe the others to screen readers. */
export function VirtualTable<T>(props: Props<T>) {
  const { caption, columns, rows, rowKey, searchText, noun, nouns, file } = props;
  const [sort, setSort] = useState<{ id: string; direction: Direction } | null>(null);
  const [search, setSearch] = useState('');
  const texts = useMemo(() => (searchText ? rows.map((row) => foldCase(searchText(row))) : []), [rows]);
  const shown = useMemo(() => {
    const found = searchText ? searchRows(rows, texts, search) : rows;
    const column = sort && columns.find(({ id }) => id === sort.id);
    return column ? sortRows(found, column.sortBy, sort.direction) : found;
  }, [rows, texts, search, sort]);
  const { region, isPrinting, first, end } = useView(shown.length);
  useEffect(() => {
    region.current!.scrollTop = 0;
  }, [search, sort]);

  const toggle = ({ id, isNumber }: Column<T>) => {
    const preferred: Direction = isNumber ? 'descending' : 'ascending';
    const other: Direction = isNumber ? 'ascending' : 'descending';
    setSort({ id, direction: sort?.id === id && sort.direction === preferred ? other : preferred });
  };
  const hasSearch = searchText && rows.length >= SEARCH_FROM;
  return (
    <>
      <div class="table-tools">
        {hasSearch && (
          <input
            type="search"
            aria-label={`Search ${caption}`}
            placeholder={`Search ${nouns ?? `${noun}s`}`}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        <p class="quiet numbers" aria-live="polite">
          {shown.length === rows.length
            ? plural(rows.length, noun, nouns)
            : `${count(shown.length)} of ${plural(rows.length, noun, nouns)}`}
        </p>
        <button
          type="button"
          class="quiet-button small table-csv"
          aria-label={`Download ${caption} as CSV`}
          onClick={() =>
            saveCsv(
              file,
              columns.map(({ label }) => label),
              shown.map((row) => columns.map(({ sortBy }) => sortBy(row))),
            )
          }
        >
          CSV
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: without it a keyboard could not scroll the region */}
      <section class="table-region" ref={region} tabIndex={0} aria-label={caption}>
        <table class="virtual" aria-rowcount={shown.length + 1}>
          <caption class="visually-hidden">{caption}</caption>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <th
                  key={column.id}
                  scope="col"
                  class={`column-${column.id}${column.isNumber ? ' numbers' : ''}`}
                  aria-sort={sort?.id === column.id ? sort.direction : 'none'}
                >
                  {/* In print, plain text: browsers omit buttons from headers repeated on the next page. */}
                  {isPrinting ? (
                    column.label
                  ) : (
                    <button type="button" class="sort" title={column.hint} onClick={() => toggle(column)}>
                      {column.label}
                    </button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer rows={first} columns={columns.length} />
            {shown.slice(first, end).map((row, at) => (
              <tr key={rowKey(row)} aria-rowindex={first + at + 2}>
                {columns.map(({ id, cell, isNumber }) => (
                  <td key={id} class={`column-${id}${isNumber ? ' numbers' : ''}`}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
            {!isPrinting && <Spacer rows={shown.length - end} columns={columns.length} />}
          </tbody>
        </table>
        {shown.length === 0 && <p class="quiet no-match">Nothing matches “{search}”.</p>}
        {isPrinting && shown.length > end && (
          <p class="quiet no-match">
            The first {count(end)} of {plural(shown.length, noun, nouns)}; the CSV file has all.
          </p>
        )}
      </section>
    </>
  );
}
