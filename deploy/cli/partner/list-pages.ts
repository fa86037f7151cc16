/** Lists of the API, page by page, up to as many records as are wanted. */
import type { Command } from 'commander';
import type { ApiClient } from './api-client.ts';
import { between, status, statusNames } from './parse-options.ts';

const PAGE = 1_000;
const DEFAULT_LIMIT = 30;

export interface ListOptions {
  limit: number;
  status?: number;
  search?: string;
}

export const withListOptions = (command: Command): Command =>
  command
    .option('--limit <n>', 'list at most so many, the newest', between(1, 1_000_000), DEFAULT_LIMIT)
    .option('--status <status>', `only those that are ${statusNames.join(', ')}`, status)
    .option('--search <text>', 'only those whose name or path contains this');

type Wanted = Omit<ListOptions, 'status'> & { status?: number | string };

export async function listRecords<T>(api: ApiClient, path: string, wanted: Wanted): Promise<T[]> {
  const records: T[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: String(Math.min(PAGE, wanted.limit - records.length)) });
    if (wanted.status !== undefined) query.set('status', String(wanted.status));
    if (wanted.search !== undefined) query.set('search', wanted.search);
    if (cursor !== null) query.set('cursor', cursor);
    const { data, next } = await api.get<T[]>(`${path}?${query}`);
    records.push(...data);
    cursor = next;
  } while (cursor !== null && records.length < wanted.limit);
  return records;
}
