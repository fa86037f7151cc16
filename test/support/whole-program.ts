/** Every command of the command line, without running any. */
import { Command } from 'commander';
import { registerAdminCommands } from '../../api/cli/admin.ts';
import { registerPartnerCommands } from '../../api/cli/client/register.ts';
import { registerLocalCommands } from '../../deploy/cli/local.ts';
import { registerServers } from '../../deploy/cli/servers.ts';
import { registerPipelineCommands } from '../../pipeline/cli/commands.ts';

export function wholeProgram(): Command {
  const program = new Command('headrace').exitOverride();
  const notRun = () => {
    throw new Error('no command is run here');
  };
  registerLocalCommands(program);
  registerServers(program);
  registerPartnerCommands(program);
  registerPipelineCommands(program, notRun);
  registerAdminCommands(program, notRun);
  return program;
}
