/**
 * The command line, and the one place where the parts meet. What a command needs is loaded when it is called:
 * `--help` and `up` must not wait for a driver.
 */
import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { loadEnvironment } from './cli/environment.ts';
import { tellAndExit } from './cli/fail.ts';
import { registerLocalCommands } from './cli/local.ts';
import { registerServers } from './cli/servers.ts';

const program = new Command('headrace')
  .description(packageJson.description)
  .version(packageJson.version)
  .showHelpAfterError('(headrace --help shows the commands)');

registerLocalCommands(program);
registerServers(program);

// The rest brings drivers along: only for a command of its own, or for a list of all commands.
const [wanted] = program.parseOptions(process.argv.slice(2)).operands;
const isRegistered = program.commands.some((command) => command.name() === wanted);

try {
  if (!isRegistered && wanted !== 'admin')
    (await import('../pipeline/cli/commands.ts')).registerPipelineCommands(program, loadEnvironment);
  if (!isRegistered && wanted !== 'tap' && wanted !== 'replay')
    (await import('../api/cli/admin.ts')).registerAdminCommands(program, loadEnvironment);
  await program.parseAsync();
} catch (error) {
  tellAndExit(error);
}
