/** up, down, status and demo: the commands for the local stack. */
import { type Command, InvalidArgumentError } from 'commander';
import { clusterSizes } from '../../../local/names.ts';
import { defaultState } from '../../environment.ts';

const stateOption = ['--state <dir>', 'state folder: data, logs, secrets', defaultState] as const;
const gigabytes = (text: string) => {
  const number = Number(text);
  if (text.trim() !== '' && number >= 0.25 && number <= 10_000) return number;
  throw new InvalidArgumentError('expected gigabytes, from 0.25 on');
};
const portNumber = (text: string) => {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('expected a port from 0 (any) to 65535');
};
const portOption = ['--port <n>', 'port of the API (default: 8080, or a free one)', portNumber] as const;
const size = (text: string) => {
  if (clusterSizes.some((known) => String(known) === text)) return Number(text);
  throw new InvalidArgumentError(`expected ${clusterSizes.join(' or ')}`);
};
const cacheOption = [
  '--mongod-cache-gb <n>',
  "size of mongod's cache, shared by all members (default: a quarter of the machine's memory)",
  gigabytes,
] as const;

export function registerLocalCommands(program: Command): void {
  program
    .command('up')
    .description(
      'start Kafka, mongod, S3, the API and the pipeline, except those already running, and wait until all are ready',
    )
    .option(...stateOption)
    .option('--detach', 'return and leave them running in the background (stop with: headrace down)')
    .option('--json', 'print a JSON object with addresses, keys and pids as the last line')
    .option('--servers-only', 'start only Kafka, mongod and S3')
    .option('--brokers <n>', 'number of Kafka brokers, 1 or 3; fixed by the first start (default: 1)', size)
    .option(
      '--members <n>',
      'members of the MongoDB replica set, 1 or 3; fixed by the first start (default: 1)',
      size,
    )
    .option('--secure', 'with TLS and passwords for Kafka and mongod; fixed by the first start')
    .option(...portOption)
    .option(...cacheOption)
    .action(async (options) => (await import('../start-stack.ts')).up(options));
  program
    .command('down')
    .description('stop the processes that up has started')
    .option(...stateOption)
    .option('--purge', 'also delete the state folder: data, logs, secrets')
    .option('--json', 'print a JSON object as the last line')
    .action(async (options) => (await import('./down.ts')).down(options));
  program
    .command('status')
    .description('show each process and its health; exits with 1 unless all are healthy')
    .option(...stateOption)
    .option('--json', 'print a JSON object')
    .action(async (options) => (await import('../show-status.ts')).status(options));
  program
    .command('compose-setup', { hidden: true })
    .description('initiate the replica set and create the bucket of deploy/compose.yaml')
    .action(async () => (await import('./compose-setup.ts')).composeSetup(process.env));
  program
    .command('demo')
    .description('start everything, create a demo partner and load sample files (same as npm start)')
    .option(...stateOption)
    .option(...portOption)
    .option(...cacheOption)
    .action(async (options) => (await import('../../../demo/demo.ts')).demo(options));
}
