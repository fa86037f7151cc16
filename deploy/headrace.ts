/** The command line. */
import { Command, Help } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { endSilentlyOnClosedPipe } from '../pipeline/runtime/terminal.ts';
import { registerCommands } from './cli/commands.ts';
import { tellAndExit } from './cli/fail.ts';

const program = new Command('headrace')
  .description(packageJson.description)
  .version(packageJson.version)
  .helpCommand(false)
  .showHelpAfterError('(headrace --help shows the commands)')
  // Before the commands are added, which inherit it.
  .configureHelp({
    optionDescription: (option) =>
      `${Help.prototype.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
  });

try {
  endSilentlyOnClosedPipe();
  await registerCommands(program, program.parseOptions(process.argv.slice(2)).operands[0]);
  await program.parseAsync();
} catch (error) {
  tellAndExit(error);
}
