/**
 * The command line, and the one place where the parts meet. What a command needs is loaded when it is called:
 * `--help` and `up` must not wait for a driver.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
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

const here = (path: string) => existsSync(fileURLToPath(new URL(path, import.meta.url)));
const known = new Set(program.commands.map((command) => command.name()));
const wanted = process.argv.slice(2).find((argument) => !argument.startsWith('-'));

try {
  // A command registered above never needs what these bring along.
  if (wanted === undefined || !known.has(wanted)) {
    if (here('../api/cli/admin.ts'))
      (await import('../api/cli/admin.ts')).registerAdminCommands(program, loadEnvironment);
    if (here('../pipeline/cli/commands.ts')) {
      (await import('../pipeline/cli/commands.ts')).registerPipelineCommands(program, loadEnvironment);
    }
  }
  await program.parseAsync();
} catch (error) {
  tellAndExit(error);
}
