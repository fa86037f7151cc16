/** A page of a list with filters, updated live. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ApiResponse } from '../../client/client.ts';
import { statusWords } from '../../client/words.ts';
import { read } from '../api-client.ts';
import { useSettled, useTitle } from '../hooks.ts';
import { useLive } from '../live.ts';
import { type Query, useQuery } from '../query.ts';
import { hrefWith, navigate } from '../router.ts';
import { EmptyState, Pager, QueryState } from './basics.tsx';
import { type ListColumn, ListTable } from './list-table.tsx';

interface FiltersProps {
  /** The address of the list. Filters are in its query, so that they survive a reload and can be shared. */
  path: string;
  query: URLSearchParams;
  searchLabel: string;
}

const SETTLED_MS = 250;

function Filters({ path, query, searchLabel }: FiltersProps) {
  const search = query.get('search') ?? '';
  const status = query.get('status') ?? '';
  const [typed, setTyped] = useState(search);
  const settled = useSettled(typed, SETTLED_MS).trim();
  useEffect(() => setTyped(search), [search]);
  useEffect(() => {
    if (settled !== search && settled === typed.trim())
      navigate(hrefWith(path, { search: settled, status }), { replace: true });
  }, [settled]);
  return (
    <search class="filters">
      <input
        type="search"
        aria-label={searchLabel}
        placeholder={searchLabel}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <select
        aria-label="Status"
        value={status}
        onChange={(event) => navigate(hrefWith(path, { search, status: event.currentTarget.value }))}
      >
        <option value="">Any status</option>
        {Object.entries(statusWords).map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </search>
  );
}

const PAGE = '25';
/** Many jobs may change within a second: read the list once. */
const APART_MS = 1_000;

interface List<T> extends Query<ApiResponse<T[]>> {
  firstPage: string | undefined;
  nextPage: string | undefined;
  isFiltered: boolean;
}

function useList<T>({ apiPath, path: pagePath, query, again }: Props<T>): List<T> {
  const given = (name: string) => query.get(name) ?? undefined;
  const filters = { search: given('search'), status: given('status') };
  const cursor = given('cursor');
  const path = hrefWith(apiPath, { limit: PAGE, ...filters, cursor });
  const list = useQuery(path, (signal) => read<T[]>(path, signal), {
    again: again && (({ data }) => again(data)),
    apartMs: APART_MS,
    keep: true,
  });
  useLive(again ? null : `${apiPath}/events`, list.refresh);
  const next = list.data?.next;
  return {
    ...list,
    firstPage: cursor && hrefWith(pagePath, filters),
    nextPage: next ? hrefWith(pagePath, { ...filters, cursor: next }) : undefined,
    isFiltered: !!(filters.search || filters.status),
  };
}

interface Props<T> {
  title: string;
  /** What a row is, such as `audience`. */
  noun: string;
  path: string;
  apiPath: string;
  query: URLSearchParams;
  /** Without it, the list has no filters. */
  searchLabel?: string;
  columns: ListColumn<T>[];
  rowKey: (row: T) => number;
  /** The primary action, beside the title. */
  action?: ComponentChildren;
  /** The empty state, without filters. */
  empty: ComponentChildren;
  /** For a list without events: when to read it again, in ms. */
  again?: (rows: T[]) => number;
}

export function ListPage<T>(props: Props<T>) {
  const { title, noun, path, query, searchLabel, columns, rowKey, action, empty } = props;
  useTitle(title);
  const list = useList(props);
  const rows = list.data?.data;
  return (
    <>
      <div class="spread">
        <h1>{title}</h1>
        <div class="actions">
          {searchLabel && <Filters path={path} query={query} searchLabel={searchLabel} />}
          {rows && (rows.length > 0 || list.isFiltered) && action}
        </div>
      </div>
      <QueryState query={list} rows={8} />
      {rows && rows.length > 0 && (
        <ListTable
          caption={`${title}, newest first`}
          columns={columns}
          rows={rows}
          rowKey={rowKey}
          isStale={list.isStale}
        />
      )}
      {rows?.length === 0 && !list.isFiltered && empty}
      {rows?.length === 0 && list.isFiltered && (
        <EmptyState title={`No ${noun} matches`}>
          <p>
            <a href={path}>Show all {noun}s</a>
          </p>
        </EmptyState>
      )}
      <Pager label={`Pages of ${noun}s`} first={list.firstPage} next={list.nextPage} />
    </>
  );
}
