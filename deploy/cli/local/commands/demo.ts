import type { Command } from 'commander';
import { cacheOption, portOption, stateOption } from '../options.ts';

export function register(program: Command): void {
  program
    .command('demo')
    .description('start everything, create a demo partner and load sample files (same as npm start)')
    .option(...stateOption)
    .option(...portOption)
    .option(...cacheOption)
    .action(async (options) => (await import('../../../demo/demo.ts')).demo(options));
}
