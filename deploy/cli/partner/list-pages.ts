/** The options of lists. */
import type { Command } from 'commander';
import { between, status, statusNames } from '../parse-options.ts';

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
