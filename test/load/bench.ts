/** `npm run bench`: how fast the real service is, with every guarantee on and the settings as they come. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type BenchStack, startBenchStack } from './bench-stack.ts';
import { wrongOnes } from './check-counts.ts';
import { summarizeProfiles } from './profile-summary.ts';
import { createProgress } from './progress.ts';
import { describePrefix } from './report.ts';
import { measurePrefix } from './scenarios/one-prefix.ts';
import type { Layout } from './service-calls.ts';

const whole = (text: string) => {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('expected a whole number');
  return Number(text);
};
const positive = (text: string) => {
  const number = whole(text.replaceAll('_', ''));
  if (number === 0) throw new InvalidArgumentError('expected 1 or more');
  return number;
};
const portion = (text: string) => {
  const number = Number(text);
  if (text.trim() === '' || !(number >= 0 && number < 1))
    throw new InvalidArgumentError('expected a share such as 0.2');
  return number;
};

interface Options {
  readonly rows?: number;
  readonly files: number;
  readonly duplicates: number;
  readonly layout: Layout;
  readonly attributes?: number;
  readonly gzip: boolean;
  readonly seed: number;
  readonly json?: string;
  readonly profile: boolean;
  readonly baseline: boolean;
  readonly keep: boolean;
}

const defaultKeys: Record<Layout, number> = { a: 20, b: 4 };
const progress = createProgress();
const say = (lines: readonly string[]) => process.stdout.write(`${lines.join('\n')}\n`);

async function withStack<T>(
  options: Options,
  signal: AbortSignal,
  work: (stack: BenchStack) => Promise<T>,
): Promise<T> {
  const profileTo = options.profile ? mkdtempSync(join(tmpdir(), 'headrace-profile-')) : undefined;
  const stack = await startBenchStack({ report: progress.step, signal, profileTo });
  try {
    return await work(stack);
  } finally {
    await stack.stop({ keep: options.keep });
    if (options.keep) progress.step(`everything still runs: npx headrace down --state ${stack.directory}`);
    if (profileTo !== undefined && !options.keep) say(['', ...summarizeProfiles(profileTo)]);
  }
}

async function benchPrefix(options: Options, signal: AbortSignal): Promise<boolean> {
  const { layout } = options;
  const result = await withStack(options, signal, (stack) =>
    measurePrefix(
      stack,
      { ...options, rows: options.rows ?? 1_000_000, keys: options.attributes ?? defaultKeys[layout] },
      progress,
      signal,
    ),
  );
  say(['', ...describePrefix(result)]);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`);
  return wrongOnes(result.checks).length === 0;
}

const program = new Command('npm run bench --')
  .description('Starts the real service in a folder of its own, loads generated files, checks every count.')
  .option('--rows <number>', 'rows in all', positive)
  .option('--files <number>', 'files under the prefix', positive, 8)
  .option('--duplicates <share>', 'share of rows that repeat an earlier one', portion, 0.2)
  .addOption(
    new Option('--layout <layout>', 'a: attributes, b: an audience with events')
      .choices(['a', 'b'])
      .default('b'),
  )
  .option(
    '--attributes <number>',
    'different keys: attributes of layout a (20), events of layout b (4)',
    positive,
  )
  .option('--gzip', 'compressed files', false)
  .option('--seed <number>', 'the same seed gives the same files', whole, 1)
  .option('--json <file>', 'write the result there, and a chart beside it')
  .option('--profile', 'a CPU profile of the pipeline, and its first 25 functions', false)
  .option('--no-baseline', 'without the bulk upserts that the result is compared with')
  .option('--keep', 'leave everything running', false);

program.action(async (options: Options) => {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort());
  try {
    process.exitCode = (await benchPrefix(options, controller.signal)) ? 0 : 1;
  } catch (error) {
    progress.step(controller.signal.aborted ? 'stopped' : `failed: ${(error as Error).stack ?? error}`);
    process.exitCode = 1;
  }
});
await program.parseAsync();
