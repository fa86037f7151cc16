/** Asks before a change that cannot be undone. */
import { isInteractive } from '../../pipeline/runtime/terminal.ts';

export const yesOption = ['--yes', 'do not ask for confirmation'] as const;
export const notATerminal = 'not a terminal: pass --yes to confirm';

/** undefined: there is no terminal to ask at. */
export async function confirm(message: string): Promise<boolean | undefined> {
  if (!isInteractive(process.stderr) || !process.stdin.isTTY) return undefined;
  const prompts = await import('@clack/prompts');
  return (await prompts.confirm({ message, initialValue: false, output: process.stderr })) === true;
}
