/** What cannot be undone is confirmed at the terminal, or with --yes. */
import { isInteractive } from '../../../pipeline/runtime/terminal.ts';
import { CommandError, exitCodes, usageError } from './exit-codes.ts';

export const yesOption = ['--yes', 'do not ask'] as const;

export async function askFirst(question: string, isConfirmed = false): Promise<void> {
  if (isConfirmed) return;
  if (!isInteractive(process.stderr) || !process.stdin.isTTY)
    throw usageError('this cannot be undone: confirm it with --yes');
  const { confirm } = await import('@clack/prompts');
  const answer = await confirm({ message: question, initialValue: false, output: process.stderr });
  if (answer !== true) throw new CommandError(exitCodes.failed, 'not_confirmed', 'nothing was changed');
}
