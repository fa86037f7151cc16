/** Options and usage errors that partners' commands share. */

import type { Command, CommanderError } from 'commander';
import { toJsonLine } from '../../../pipeline/runtime/terminal.ts';
import { confirm, notATerminal } from '../confirm.ts';
import { between, duration, status, statusNames } from '../parse-options.ts';
import { CommandError, exitCodeHelp, exitCodes, usageError } from './exit-codes.ts';
import { withConnection } from './settings.ts';

export async function confirmFirst(question: string, isConfirmed = false): Promise<void> {
  if (isConfirmed) return;
  const answer = await confirm(question);
  if (answer === undefined) throw usageError(notATerminal);
  if (!answer) throw new CommandError(exitCodes.failed, 'not_confirmed', 'nothing was changed');
}

const wantsJson = () => process.argv.includes('--json');
const asJson = (text: string) =>
  toJsonLine(new CommandError(exitCodes.usage, 'usage', text.replace(/^error: /, '').trim()).toRecord());

/** Wrong usage ends with 2, here and in all commands below. */
export const exitOnWrongUsage = (command: Command): Command =>
  command
    .exitOverride((error: CommanderError) => process.exit(error.exitCode === 0 ? 0 : exitCodes.usage))
    .showHelpAfterError(!wantsJson() && '(add --help for help)')
    .configureOutput({ outputError: (text, write) => write(wantsJson() ? asJson(text) : text) });

export const addGroup = (program: Command, name: string, description: string): Command =>
  exitOnWrongUsage(program.command(name).description(description)).helpCommand(false);

export const addCommand = (parent: Command, name: string, description: string): Command =>
  withConnection(
    exitOnWrongUsage(parent.command(name)).description(description).option('--json', 'print JSON'),
  ).addHelpText('after', exitCodeHelp);

export const withFollow = (command: Command, what = 'the end of the job'): Command =>
  command
    .option('--follow', `wait for ${what} and show progress`)
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
