/** Every command of the command line, without running any. */
import { Command } from 'commander';
import { registerAdminCommands } from '../../deploy/cli/admin/admin.ts';
import { registerLocalCommands } from '../../deploy/cli/local/local.ts';
import { registerServers } from '../../deploy/cli/local/servers.ts';
import { registerPipelineCommands } from '../../deploy/cli/operator/commands.ts';
import { registerPartnerCommands } from '../../deploy/cli/partner/register.ts';

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
