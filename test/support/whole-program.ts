/** Every command of the command line, without running any. */
import { Command } from 'commander';
import { registerCommands } from '../../deploy/cli/commands.ts';

export async function wholeProgram(): Promise<Command> {
  const program = new Command('headrace').exitOverride();
  await registerCommands(program);
  return program;
}
