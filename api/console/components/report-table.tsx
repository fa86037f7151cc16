import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, plural } from '../../client/format.ts';
import { saveCsv } from '../csv.ts';
import { usePrinting } from '../hooks.ts';
import { type Direction, foldCase, type SortValue, searchRows, sortRows } from '../rows.ts';
import { CsvButton } from './basics.tsx';

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
  /** The text that search matches. */
  searchText: (row: T) => string;
  /** What a row is, such as `attribute`. */
  noun: string;
  /** The name of its CSV file. */
  file: string;
}

/** Rows shown at first, and added when the reader has scrolled to the last of them: a report may have 100,000. */
const STEP = 200;
/** How far from the last row, in pixels. */
const NEAR_END = 400;
const SEARCH_FROM = 8;
/** Only the first rows are printed; the CSV file has all. */
const PRINTED = 40;

/** A table with search, sort and download, in a region of its own height. aria-rowcount tells screen readers of rows not yet added. */
export function ReportTable<T>(props: Props<T>) {
  const { caption, columns, rows, rowKey, searchText, noun, file } = props;
  const [sort, setSort] = useState<{ id: string; direction: Direction } | null>(null);
  const [search, setSearch] = useState('');
  const texts = useMemo(() => rows.map((row) => foldCase(searchText(row))), [rows]);
  const shown = useMemo(() => {
    const found = searchRows(rows, texts, search);
    const column = sort && columns.find(({ id }) => id === sort.id);
    return column ? sortRows(found, column.sortBy, sort.direction) : found;
  }, [rows, texts, search, sort]);
  const region = useRef<HTMLElement>(null);
  const [limit, setLimit] = useState(STEP);
  useEffect(() => {
    region.current!.scrollTop = 0;
    setLimit(STEP);
  }, [search, sort]);
  const onScroll = () => {
    const { scrollTop, clientHeight, scrollHeight } = region.current!;
    if (limit < shown.length && scrollTop + clientHeight > scrollHeight - NEAR_END) setLimit(limit + STEP);
  };
  const isPrinting = usePrinting();
  const end = Math.min(shown.length, isPrinting ? PRINTED : limit);

  const toggle = ({ id, isNumber }: Column<T>) => {
    const preferred: Direction = isNumber ? 'descending' : 'ascending';
    const other: Direction = isNumber ? 'ascending' : 'descending';
    setSort({ id, direction: sort?.id === id && sort.direction === preferred ? other : preferred });
  };
  return (
    <>
      <div class="table-tools">
        {rows.length >= SEARCH_FROM && (
          <input
            type="search"
            aria-label={`Search ${caption}`}
            placeholder={`Search ${noun}s`}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        <p class="quiet numbers" aria-live="polite">
          {shown.length === rows.length
            ? plural(rows.length, noun)
            : `${count(shown.length)} of ${plural(rows.length, noun)}`}
        </p>
        <CsvButton
          caption={caption}
          onClick={() =>
            saveCsv(
              file,
              columns.map(({ label }) => label),
              shown.map((row) => columns.map(({ sortBy }) => sortBy(row))),
            )
          }
        />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: without it a keyboard could not scroll the region */}
      <section class="table-region" ref={region} tabIndex={0} aria-label={caption} onScroll={onScroll}>
        <table class="report-table" aria-rowcount={shown.length + 1}>
          <caption class="visually-hidden">{caption}</caption>
          <thead>
            <tr>
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
            {shown.slice(0, end).map((row) => (
              <tr key={rowKey(row)}>
                {columns.map(({ id, cell, isNumber }) => (
                  <td key={id} class={`column-${id}${isNumber ? ' numbers' : ''}`}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p class="quiet no-match">Nothing matches “{search}”.</p>}
        {isPrinting && shown.length > end && (
          <p class="quiet no-match">
            The first {count(end)} of {plural(shown.length, noun)}; the CSV file has all.
          </p>
        )}
      </section>
    </>
  );
}
