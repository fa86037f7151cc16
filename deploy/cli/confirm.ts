/** Asks before a change that cannot be undone. */
import type { Command } from 'commander';
import { isInteractive } from '../../pipeline/runtime/terminal.ts';
import { CommandError, exitCodes } from './partner/exit-codes.ts';

export const yesOption = ['--yes', 'do not ask for confirmation'] as const;

/** Without a terminal, omitting `--yes` is a usage error. */
export function requireTerminal(command: Command): void {
  if (!isInteractive(process.stderr) || !process.stdin.isTTY)
    command.error('error: not a terminal: pass --yes to confirm');
}

export async function confirm(message: string): Promise<boolean> {
  const prompts = await import('@clack/prompts');
  return (await prompts.confirm({ message, initialValue: false, output: process.stderr })) === true;
}

/** For a command with `yesOption`. Throws unless the change is confirmed. */
export async function confirmFirst(command: Command, question: string): Promise<void> {
  if (command.opts<{ yes?: boolean }>().yes) return;
  requireTerminal(command);
  if (!(await confirm(question)))
    throw new CommandError(exitCodes.failed, 'not_confirmed', 'nothing was changed');
}
