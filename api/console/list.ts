/** A page of a list, updated live. */
import type { ApiResponse } from '../client/client.ts';
import { read } from './api-client.ts';
import { useLive } from './live.ts';
import { type Query, useQuery } from './query.ts';
import { hrefWith } from './router.ts';

const PAGE = '25';
/** Many jobs may change within a second: read the list once. */
const APART_MS = 1_000;

export interface List<T> extends Query<ApiResponse<T[]>> {
  firstPage: string | undefined;
  nextPage: string | undefined;
  isFiltered: boolean;
}

export function useList<T>(apiPath: string, pagePath: string, query: URLSearchParams): List<T> {
  const given = (name: string) => query.get(name) ?? undefined;
  const filters = { search: given('search'), status: given('status') };
  const cursor = given('cursor');
  const path = hrefWith(apiPath, { limit: PAGE, ...filters, cursor });
  const list = useQuery(path, (signal) => read<T[]>(path, signal), { apartMs: APART_MS, keep: true });
  useLive(`${apiPath}/events`, list.refresh);
  const next = list.data?.next;
  return {
    ...list,
    firstPage: cursor && hrefWith(pagePath, filters),
    nextPage: next ? hrefWith(pagePath, { ...filters, cursor: next }) : undefined,
    isFiltered: !!(filters.search || filters.status),
  };
}
