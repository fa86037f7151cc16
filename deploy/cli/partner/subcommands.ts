/** Partners' commands, and the options that they share. */
import type { Command } from 'commander';
import { ConfirmedCommand } from '../confirm.ts';
import { between, duration, status, statusNames } from '../parse-options.ts';
import { exitCodeHelp } from './exit-codes.ts';
import { type CommandContext, runCommand } from './run-command.ts';
import { withConnection } from './settings.ts';

export const addGroup = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description).helpCommand(false);

/** Given its arguments and options. */
type Work<Given extends unknown[]> = (context: CommandContext, ...given: Given) => Promise<void>;

class PartnerCommand extends ConfirmedCommand {
  runs<Given extends unknown[]>(work: Work<Given>): this {
    return this.action((...all) =>
      runCommand(this, async (context) => {
        const given = all.slice(0, -1) as Given;
        await this.confirm(given);
        await work(context, ...given);
      }),
    );
  }
}

/** Without the options of the connection. */
export function addLocalCommand(parent: Command, name: string, description: string): PartnerCommand {
  const command = new PartnerCommand(name).copyInheritedSettings(parent);
  parent.addCommand(command);
  return command.description(description).option('--json', 'print JSON').addHelpText('after', exitCodeHelp);
}

export const addCommand = (parent: Command, name: string, description: string): PartnerCommand =>
  withConnection(addLocalCommand(parent, name, description));

export const withFollow = <C extends Command>(command: C, what = 'the end of the job'): C =>
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

export const withListOptions = <C extends Command>(command: C): C =>
  command
    .option('--limit <n>', 'maximum number to list, newest first', between(1, 1_000_000), DEFAULT_LIMIT)
    .option('--status <status>', `only with this status: ${statusNames.join(', ')}`, status)
    .option('--search <text>', 'only if the name or path contains this text');
