/** Options that partners' commands share. */

import type { Command } from 'commander';
import { between, duration, status, statusNames } from '../parse-options.ts';
import { exitCodeHelp } from './exit-codes.ts';
import { withConnection } from './settings.ts';

export const addGroup = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description).helpCommand(false);

export const addCommand = (parent: Command, name: string, description: string): Command =>
  withConnection(parent.command(name).description(description).option('--json', 'print JSON')).addHelpText(
    'after',
    exitCodeHelp,
  );

export const withFollow = (command: Command, what = 'the end of the job', flags = '--follow'): Command =>
  command
    .option(flags, `wait for ${what} and show progress`)
    .option(
      '--timeout <duration>',
      'maximum time to wait, such as 90s, 5m or 2h (default: no limit)',
      duration,
    );

const DEFAULT_LIMIT = 30;

export interface ListOptions {
  limit: number;
  status?: number;
  search?: string;
}

export const withListOptions = (command: Command): Command =>
  command
    .option('--limit <n>', 'maximum number to list, newest first', between(1, 1_000_000), DEFAULT_LIMIT)
    .option('--status <status>', `only with this status: ${statusNames.join(', ')}`, status)
    .option('--search <text>', 'only if the name or path contains this text');
