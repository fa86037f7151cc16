/** up, down, status and demo: the commands for the stack on this machine. */
import { type Command, InvalidArgumentError } from 'commander';
import { clusterSizes } from '../local/names.ts';
import { defaultState } from './environment.ts';

const stateOption = ['--state <dir>', 'the state folder', defaultState] as const;
const gigabytes = (text: string) => Number(text);
const size = (text: string) => {
  if (clusterSizes.some((known) => String(known) === text)) return Number(text);
  throw new InvalidArgumentError(`expected ${clusterSizes.join(' or ')}`);
};
const cacheOption = ['--mongod-cache-gb <n>', "mongod's cache, all members together", gigabytes, 1] as const;

export function registerLocalCommands(program: Command): void {
  program
    .command('up')
    .description(
      'start Kafka, mongod, S3, the API and the pipeline, or what of them has died, and wait until they answer',
    )
    .option(...stateOption)
    .option('--detach', 'leave them running and return; headrace down stops them')
    .option('--json', 'the last line of the output is one JSON object with addresses, keys and pids')
    .option('--servers-only', 'only Kafka, mongod and S3')
    .option('--brokers <n>', 'Kafka brokers, 1 or 3 (1 at first, later as many as there were)', size)
    .option('--members <n>', 'members of the MongoDB replica set, 1 or 3', size)
    .option(...cacheOption)
    .action(async (options) => (await import('./up.ts')).up(options));
  program
    .command('down')
    .description('stop exactly what up has started')
    .option(...stateOption)
    .option('--purge', 'remove the state folder too: data, logs, secrets')
    .option('--json', 'the last line of the output is one JSON object')
    .action(async (options) => (await import('./down.ts')).down(options));
  program
    .command('status')
    .description('show each process with its health; exits 1 unless all answer')
    .option(...stateOption)
    .option('--json', 'one JSON object')
    .action(async (options) => (await import('./status.ts')).status(options));
  program
    .command('demo')
    .description('up, then a demo partner, sample files and two loads to look at; this is npm start')
    .option(...stateOption)
    .option(...cacheOption)
    .action(async (options) => (await import('../demo/demo.ts')).demo(options));
}
