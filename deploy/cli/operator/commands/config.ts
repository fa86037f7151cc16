import type { Command } from 'commander';
import { printData } from '../../../../pipeline/runtime/terminal.ts';
import { settingsReference } from '../../../../schemas/settings-reference.ts';
import type { Environments } from '../../commands.ts';
import { checkSettings, type DoctorOptions } from '../doctor/doctor.ts';
import { roleOption, type StateOption, stateOption } from '../options.ts';

export function register(program: Command, { load }: Environments): void {
  const settings = program.command('config').description('check or list the settings');
  settings
    .command('reference')
    .description('print every setting with its default and its meaning, as an environment file')
    .action(() => printData(process.stdout, settingsReference()));
  settings
    .command('check')
    .description('check the settings without connecting; exits with 1 on a problem')
    .addOption(roleOption(['api', 'pipeline', 'admin']))
    .option('--json', 'print a JSON object')
    .addOption(stateOption())
    .action((options: DoctorOptions & StateOption) =>
      checkSettings(options.state === undefined ? process.env : load(options.state), options),
    );
}
