/** The options of `headrace load`, parsed into a plan. */
import { randomInt } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { between, duration } from '../parse-options.ts';
import { usageError } from '../partner/exit-codes.ts';
import { newFolder } from '../partner/upload.ts';

export type LayoutName = 'a' | 'b';

export interface Ramp {
  /** Jobs per second. */
  from: number;
  to: number;
  by: number;
}

export interface LoadPlan {
  files: number;
  rows: number;
  jobs: number;
  /** Jobs per second; undefined: all at once. */
  rate?: number;
  gzip: boolean;
  duplicates: number;
  invalid: number;
  layout: LayoutName;
  attributes: number;
  /** Relative to the partner's prefix; ends in a slash. */
  prefix: string;
  seed: number;
  ramp?: Ramp;
  stepMs: number;
  parallel: number;
}

export interface LoadOptions extends Omit<LoadPlan, 'prefix' | 'seed' | 'stepMs'> {
  prefix?: string;
  seed?: number;
  step: number;
  report?: string;
  keep?: boolean;
}

const MAX_RATE = 10_000;
const MAX_FILES = 10_000_000;
const secondsOf: Record<string, number> = { s: 1, m: 60, h: 3_600 };

/** `2/s`, `30/m` or `0.5`, as jobs per second. */
export function rate(text: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(?:\/([smh]))?$/.exec(text) ?? [];
  const jobs = Number(amount) / secondsOf[unit]!;
  if (!(jobs > 0 && jobs <= MAX_RATE)) throw new InvalidArgumentError('expected a rate such as 2/s or 30/m');
  return jobs;
}

/** `1..20`, or `10..200:10` for steps of 10 jobs per second. */
export function ramp(text: string): Ramp {
  const [, from, to, by = '1'] = /^(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)(?::(\d+(?:\.\d+)?))?$/.exec(text) ?? [];
  const parsed = { from: Number(from), to: Number(to), by: Number(by) };
  if (!(parsed.from > 0 && parsed.to >= parsed.from && parsed.to <= MAX_RATE && parsed.by > 0))
    throw new InvalidArgumentError('expected jobs/s such as 1..20, or 10..200:10 for steps of 10');
  return parsed;
}

export function share(text: string): number {
  const value = Number(text);
  if (/^(?:\d+|\d*\.\d+)$/.test(text) && value < 1) return value;
  throw new InvalidArgumentError('expected a share from 0 to below 1, such as 0.2');
}

export const withLoadOptions = <C extends Command>(command: C): C =>
  command
    .option('--files <n>', 'files per job', between(1, 1_000_000), 10)
    .option('--rows <n>', 'rows per file', between(1, 5_000_000), 10_000)
    .option('--jobs <n>', 'jobs, each with its own prefix', between(1, 100_000), 1)
    .option('--rate <rate>', 'submission rate, such as 2/s or 30/m (default: all at once)', rate)
    .option('--gzip', 'compress the files', false)
    .option('--duplicates <share>', 'share of rows that duplicate an earlier row of their job', share, 0)
    .option('--invalid <share>', 'share of invalid rows', share, 0)
    .addOption(
      new Option('--layout <layout>', 'a: imports of attributes; b: audiences with events')
        .choices(['a', 'b'])
        .default('b'),
    )
    .option('--attributes <n>', 'number of attributes, or events', between(1, 100_000), 10)
    .option('--prefix <folder>', 'empty folder below your prefix to upload to (default: a new one)')
    .option('--seed <n>', 'the same seed generates the same files (default: random)', between(0, 2 ** 31))
    .option('--ramp <from..to>', 'raise the rate until the backlog grows, such as 1..20 jobs/s', ramp)
    .addOption(
      new Option('--step <duration>', 'duration of each rate of a ramp')
        .argParser(duration)
        .default(60_000, '60s'),
    )
    .option('--parallel <n>', 'parallel uploads', between(1, 64), 8)
    .option('--report <name>', 'write a report to <name>.json and <name>.html')
    .option('--keep', 'keep the files and audiences');

export function planOf(options: LoadOptions): LoadPlan {
  const { prefix = newFolder('load'), seed = randomInt(2 ** 31), step, ramp, rate } = options;
  if (ramp && rate !== undefined) throw usageError('--ramp sets the rate: remove --rate');
  if (options.jobs * options.files > MAX_FILES)
    throw usageError('at most 10,000,000 files in total: lower --jobs or --files');
  return { ...options, prefix: `${prefix.replace(/(?<!\/)\/+$/, '')}/`, seed, stepMs: step };
}
