import { type Command, InvalidArgumentError } from 'commander';
import { clusterSizes } from '../../../local/names.ts';
import { cacheOption, portOption, stateOption } from '../options.ts';

const size = (text: string) => {
  if (clusterSizes.some((known) => String(known) === text)) return Number(text);
  throw new InvalidArgumentError(`expected ${clusterSizes.join(' or ')}`);
};

export function register(program: Command): void {
  program
    .command('up')
    .description(
      'start Kafka, mongod, S3, the API and the pipeline, unless running, and wait until all are ready',
    )
    .option(...stateOption)
    .option('--detach', 'return and leave them running in the background (stop with: headrace down)')
    .option('--json', 'print a JSON object with addresses, keys and pids as the last line')
    .option('--servers-only', 'start only Kafka, mongod and S3')
    .option('--brokers <n>', 'Kafka brokers, 1 or 3; fixed by the first start (default: 1)', size)
    .option(
      '--members <n>',
      'members of the MongoDB replica set, 1 or 3; fixed by the first start (default: 1)',
      size,
    )
    .option('--secure', 'use TLS and passwords for Kafka and mongod; fixed by the first start')
    .option(...portOption)
    .option(...cacheOption)
    .action(async (options) => (await import('../start-stack.ts')).up(options));
}
