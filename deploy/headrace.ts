/**
 * The command line, and the composition root of all commands. Each command loads its modules when it runs, so that `--help` and
 * `up` do not wait for database drivers.
 */
import { Command, Help } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { endSilentlyOnClosedPipe } from '../pipeline/runtime/terminal.ts';
import { expectedStack, loadEnvironment } from './cli/environment.ts';
import { tellAndExit } from './cli/fail.ts';
import { registerLocalCommands } from './cli/local/commands/up.ts';
import { registerServers } from './cli/operator/commands/pipeline.ts';

const program = new Command('headrace')
  .description(packageJson.description)
  .version(packageJson.version)
  .showHelpAfterError('(headrace --help shows the commands)')
  // Before the commands are added: each takes it over.
  .configureHelp({
    optionDescription: (option) =>
      `${Help.prototype.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
  });

registerLocalCommands(program);
registerServers(program);

// The other commands import drivers, so they are registered only when one of them is called or all are listed.
const [wanted] = program.parseOptions(process.argv.slice(2)).operands;
const isRegistered = program.commands.some((command) => command.name() === wanted);
const ofPipeline = ['tap', 'topics', 'replay', 'doctor', 'config'];
// Those that run until they are stopped have something to put in order first.
const runsOn = ['api', 'pipeline', 'up', 'demo'];

const isOfPartners = ['login', 'import', 'audience', 'webhook', 'load'].includes(wanted ?? '');

try {
  if (!runsOn.includes(wanted ?? '')) endSilentlyOnClosedPipe();
  if (!isRegistered) (await import('./cli/partner/register.ts')).registerPartnerCommands(program);
  if (!isRegistered && !isOfPartners && wanted !== 'admin')
    (await import('./cli/operator/commands/tap.ts')).registerPipelineCommands(program, loadEnvironment);
  if (!isRegistered && !isOfPartners && !ofPipeline.includes(wanted ?? ''))
    (await import('./cli/admin/commands/attribute.ts')).registerAdminCommands(
      program,
      loadEnvironment,
      expectedStack,
    );
  await program.parseAsync();
} catch (error) {
  tellAndExit(error);
}
