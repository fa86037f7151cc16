/** The command line. */
import { endSilentlyOnClosedPipe } from '../pipeline/runtime/terminal.ts';
import { registerCommands } from './cli/commands.ts';
import { tellAndExit } from './cli/fail.ts';
import { createProgram } from './cli/program.ts';

async function main(): Promise<void> {
  endSilentlyOnClosedPipe();
  const program = createProgram();
  await registerCommands(program, program.parseOptions(process.argv.slice(2)).operands[0]);
  await program.parseAsync();
}

main().catch(tellAndExit);
