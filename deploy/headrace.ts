/**
 * The command line, and the composition root of all commands. Each command loads its modules when it runs, so that `--help` and
 * `up` do not wait for database drivers.
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

// The other commands import drivers, so they are registered only when one of them is called or all are listed.
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
