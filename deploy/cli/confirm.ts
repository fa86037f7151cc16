/** Asks before a change that cannot be undone. */
import { Command } from 'commander';
import { isInteractive } from '../../pipeline/runtime/terminal.ts';
import { CommandError, exitCodes } from './partner/exit-codes.ts';

export const yesOption = ['--yes', 'do not ask for confirmation'] as const;

/** For a command with `yesOption`. Throws unless the change is confirmed; without a terminal, that is a usage error. */
export async function confirmFirst(command: Command, message: string): Promise<void> {
  if (command.opts<{ yes?: boolean }>().yes) return;
  if (!isInteractive(process.stderr) || !process.stdin.isTTY)
    command.error('error: not a terminal: pass --yes to confirm');
  const { confirm } = await import('@clack/prompts');
  if ((await confirm({ message, initialValue: false, output: process.stderr })) !== true)
    throw new CommandError(exitCodes.failed, 'not_confirmed', 'nothing was changed');
}

/** Given the arguments and options; undefined: no need to ask. */
type Question<Given extends unknown[]> = (...given: Given) => string | undefined;

export class ConfirmedCommand extends Command {
  private question: Question<unknown[]> = () => undefined;

  confirms<Given extends unknown[]>(question: Question<Given>): this {
    this.question = question as Question<unknown[]>;
    return this.option(...yesOption);
  }

  protected async confirm(given: unknown[]): Promise<void> {
    const question = this.question(...given);
    if (question !== undefined) await confirmFirst(this, question);
  }
}
