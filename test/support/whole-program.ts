/** Every command of the command line, without running any of them. */
import type { Command } from 'commander';
import { type Environments, registerCommands } from '../../deploy/cli/commands.ts';
import { createProgram } from '../../deploy/cli/program.ts';

/** Thrown in place of an exit. */
export class Exited extends Error {
  constructor(readonly code: number) {
    super(`exited with ${code}`);
  }
}

interface Printed {
  writeOut?(text: string): void;
  writeErr?(text: string): void;
}

/** All commands, or only the one with this name. */
export async function wholeProgram(
  name?: string,
  environments?: Environments,
  printed: Printed = {},
): Promise<Command> {
  const program = createProgram((code) => {
    throw new Exited(code);
  }).configureOutput(printed);
  await registerCommands(program, name, environments);
  return program;
}
