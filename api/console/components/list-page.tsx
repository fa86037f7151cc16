import type { ComponentChildren } from 'preact';
import { useTitle } from '../hooks.ts';
import { useList } from '../list.ts';
import { EmptyState, Pager, Problem, SkeletonRows } from './basics.tsx';
import { Filters } from './filters.tsx';
import { type ListColumn, ListTable } from './list-table.tsx';

interface Props<T> {
  title: string;
  /** What a row is, such as `audience`. */
  noun: string;
  path: string;
  apiPath: string;
  query: URLSearchParams;
  searchLabel: string;
  columns: ListColumn<T>[];
  rowKey: (row: T) => number;
  /** The primary action, beside the title. */
  action?: ComponentChildren;
  /** The empty state, without filters. */
  empty: ComponentChildren;
}

export function ListPage<T>({
  title,
  noun,
  path,
  apiPath,
  query,
  searchLabel,
  columns,
  rowKey,
  action,
  empty,
}: Props<T>) {
  useTitle(title);
  const list = useList<T>(apiPath, path, query);
  const rows = list.data?.data;
  return (
    <>
      <div class="page-head">
        <h1>{title}</h1>
        <div class="actions">
          <Filters path={path} query={query} searchLabel={searchLabel} />
          {rows && (rows.length > 0 || list.isFiltered) && action}
        </div>
      </div>
      {list.problem && <Problem problem={list.problem} retry={list.reload} />}
      {!rows && !list.problem && <SkeletonRows rows={8} />}
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
