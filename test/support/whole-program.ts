/** Every command of the command line, without running any. */
import { Command } from 'commander';
import { registerAdminCommands } from '../../deploy/cli/admin/commands/attribute.ts';
import { registerLocalCommands } from '../../deploy/cli/local/commands/up.ts';
import { registerServers } from '../../deploy/cli/operator/commands/pipeline.ts';
import { registerPipelineCommands } from '../../deploy/cli/operator/commands/tap.ts';
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
