/** The command line of the benchmarks. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { type ClusterSize, clusterSizes } from '../../deploy/local/names.ts';
import { allBenchmarks } from './benchmarks.ts';
import type { Layout } from './partner-calls.ts';

const names = [...new Set(allBenchmarks.map(({ name }) => name))];
const situationNames = allBenchmarks.flatMap(({ part }) => part ?? []);

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
  readonly history: number;
  readonly growth: boolean;
  readonly table: boolean;
  readonly only?: string[];
  readonly beside?: Map<string, number | undefined>;
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
      throw new InvalidArgumentError(`expected a whole number of at least ${from}`);
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

function some(text: string): string[] {
  const wanted = text.split(',').map((name) => name.trim());
  const unknown = wanted.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new InvalidArgumentError(`there is no ${unknown.join(', ')}`);
  return wanted;
}

function besides(text: string): Map<string, number | undefined> {
  const wanted = text.split(',').map((part): [string, number | undefined] => {
    const [name = '', size] = part.split('=').map((word) => word.trim());
    if (!situationNames.includes(name)) throw new InvalidArgumentError(`there is no ${name}`);
    return [name, size === undefined ? undefined : whole(1)(size)];
  });
  return new Map(wanted);
}

const sizeOption = (flags: string, what: string) =>
  new Option(flags, what).choices(clusterSizes.map(String)).argParser(Number).default(1);

const examples = `
Examples:
  npm run bench -- --rows 4000000 --json result.json   load an audience from 8 files; also writes the chart result.svg
  npm run bench -- --rows 4000000 --layout a --gzip    load 20 attributes from gzip files
  npm run bench -- --jobs 1000 --rows 1000             many small jobs
  npm run bench -- --idle-jobs 30 --rows 1000          one small job at a time
  npm run bench -- --jobs 1000 --history 100000        many small jobs on a service that has run 100,000 before
  npm run bench -- --growth --scale 0.01               every operation, small and large, at a hundredth of the size
  npm run bench -- --growth --only append,files        some of them
  npm run bench -- --beside rows,gzip=1000             small jobs of one partner beside large ones of another
  npm run bench -- --table                             every benchmark that has a target`;

export function createProgram(run: (options: Options) => Promise<void>): Command {
  const layout = new Option('--layout <layout>', 'a: attributes, b: an audience with events').choices([
    'a',
    'b',
  ]);
  return new Command('npm run bench --')
    .description(
      'Starts the real service with its default settings in a temporary folder, loads generated files, and checks every count.',
    )
    .option(
      '--rows <number>',
      'total number of rows (default: 1,000,000); with --jobs, rows per job (default: 1,000)',
      whole(1),
    )
    .option('--files <number>', 'number of files', whole(1), 8)
    .option('--duplicates <share>', 'share of rows that repeat an earlier one', between(0, 0.99), 0.2)
    .addOption(layout)
    .option(
      '--attributes <number>',
      'distinct keys: attributes in layout a (default: 20), events in layout b (default: 4)',
      whole(1),
    )
    .option('--gzip', 'compressed files', false)
    .option('--seed <number>', 'the same seed gives the same files', whole(0), 1)
    .option('--jobs <number>', 'run this many small jobs, with 16 requests in flight', whole(1))
    .option('--idle-jobs <number>', 'run this many small jobs, one at a time', whole(1))
    .option('--history <number>', 'with --jobs or --idle-jobs: jobs that have ended before', whole(0), 0)
    .option('--growth', 'run every operation on an empty or small installation and on a full one', false)
    .option('--table', 'run every benchmark that has a target, those of --growth included', false)
    .addOption(
      new Option(
        '--only <names>',
        `some of --growth or --table, separated by commas: ${names.join(', ')}`,
      ).argParser(some),
    )
    .addOption(
      new Option(
        '--beside <situations>',
        `some of the benchmark neighbours, each with a size if wanted, such as rows=100_000_000: ${situationNames.join(', ')}`,
      )
        .argParser(besides)
        .implies({ only: ['neighbours'] }),
    )
    .option('--scale <factor>', 'multiply the sizes of --growth and --table by this', between(0.001, 10), 1)
    .option('--json <file>', 'write the result to this file, and a chart next to it')
    .option('--profile', 'write a CPU profile of the pipeline and print its top 25 functions', false)
    .option('--no-baseline', 'skip the baseline (bulk upserts)')
    .addOption(sizeOption('--brokers <number>', 'Kafka brokers'))
    .addOption(sizeOption('--members <number>', 'members of the MongoDB replica set'))
    .option('--keep', 'leave everything running afterwards', false)
    .addHelpText('after', examples)
    .showHelpAfterError()
    .action(run);
}
