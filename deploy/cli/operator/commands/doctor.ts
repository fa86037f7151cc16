import type { Command } from 'commander';
import type { Environments } from '../../commands.ts';
import { type DoctorOptions, doctor } from '../doctor/doctor.ts';
import { roleOption, type StateOption, stateOption } from '../options.ts';

export function register(program: Command, { load }: Environments): void {
  program
    .command('doctor')
    .description(
      'check settings, connections, permissions, topics, indexes and clocks; exits with 1 on a problem',
    )
    .addOption(roleOption(['api', 'pipeline']))
    .option('--json', 'print a JSON object')
    .addOption(stateOption())
    .action((options: DoctorOptions & StateOption) => doctor(load(options.state), options));
}
