/** What can be asked of the bench. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { type ClusterSize, clusterSizes } from '../../deploy/local/names.ts';
import type { Layout } from './partner-calls.ts';

export interface Options {
  readonly rows?: number;
  readonly files: number;
  readonly duplicates: number;
  readonly layout?: Layout;
  readonly attributes?: number;
  readonly gzip: boolean;
  readonly seed: number;
  readonly jobs?: number;
  readonly idleJobs?: number;
  readonly append: boolean;
  readonly composition: boolean;
  readonly table: boolean;
  readonly scale: number;
  readonly json?: string;
  readonly profile: boolean;
  readonly baseline: boolean;
  readonly keep: boolean;
  readonly brokers: ClusterSize;
  readonly members: ClusterSize;
}

function whole(from: number) {
  return (text: string): number => {
    const digits = text.replaceAll(/[_,]/g, '');
    if (!/^\d{1,10}$/.test(digits) || Number(digits) < from)
      throw new InvalidArgumentError(`expected a whole number from ${from} on`);
    return Number(digits);
  };
}

function between(from: number, to: number) {
  return (text: string): number => {
    const number = Number(text);
    if (text.trim() === '' || !(number >= from && number <= to))
      throw new InvalidArgumentError(`expected a number from ${from} to ${to}`);
    return number;
  };
}

const sizeOption = (flags: string, what: string) =>
  new Option(flags, what).choices(clusterSizes.map(String)).argParser(Number).default(1);

const examples = `
Examples:
  npm run bench -- --rows 4000000 --json result.json   one prefix of 8 files, an audience; result.svg beside it
  npm run bench -- --rows 4000000 --layout a --gzip    the same for 20 attributes, compressed
  npm run bench -- --jobs 1000 --rows 1000             many small jobs
  npm run bench -- --idle-jobs 30 --rows 1000          one job at a time
  npm run bench -- --append --rows 10000000            10,000 rows more, against 10,000 rows new
  npm run bench -- --composition                       an audience against 200 attributes
  npm run bench -- --table --scale 0.1                 all of it against its bars, at a tenth of the size`;

export function createProgram(run: (options: Options) => Promise<void>): Command {
  const layout = new Option('--layout <layout>', 'a: attributes, b: an audience with events').choices([
    'a',
    'b',
  ]);
  return new Command('npm run bench --')
    .description(
      'Starts the real service in a folder of its own with the settings as they come, loads generated files, and checks every count.',
    )
    .option('--rows <number>', 'rows in all (1,000,000); of each job with --jobs (1,000)', whole(1))
    .option('--files <number>', 'files under the prefix', whole(1), 8)
    .option('--duplicates <share>', 'share of rows that repeat an earlier one', between(0, 0.99), 0.2)
    .addOption(layout)
    .option(
      '--attributes <number>',
      'different keys: attributes of layout a (20), events of layout b (4)',
      whole(1),
    )
    .option('--gzip', 'compressed files', false)
    .option('--seed <number>', 'the same seed gives the same files', whole(0), 1)
    .option('--jobs <number>', 'so many small jobs, 16 requests in flight', whole(1))
    .option('--idle-jobs <number>', 'so many small jobs, one at a time', whole(1))
    .option('--append', 'what appending to a large audience costs', false)
    .option('--composition', 'an audience of 1 million against 200 attributes of 100,000', false)
    .option('--table', 'everything that must be shown, with its bars', false)
    .option('--scale <factor>', 'sizes of --table and --composition times this', between(0.001, 10), 1)
    .option('--json <file>', 'write the result there, and a chart beside it')
    .option('--profile', 'a CPU profile of the pipeline, and its first 25 functions', false)
    .option('--no-baseline', 'without the bulk upserts that a load is compared with')
    .addOption(sizeOption('--brokers <number>', 'Kafka brokers'))
    .addOption(sizeOption('--members <number>', 'members of the MongoDB replica set'))
    .option('--keep', 'leave everything running', false)
    .addHelpText('after', examples)
    .showHelpAfterError()
    .action(run);
}
