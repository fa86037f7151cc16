/** `npm run bench`: the speed of the real service, with all guarantees and the default settings. */
import { writeFileSync } from 'node:fs';
import { allBenchmarks, growthBenchmarks } from './benchmarks.ts';
import { drawChart } from './chart.ts';
import { type CountCheck, wrongOnes } from './check-counts.ts';
import { createProgram, type Options } from './options.ts';
import { createProgress } from './progress.ts';
import { describeJobs, describePrefix } from './report.ts';
import { createRunOn, type RunOn } from './run-on-stack.ts';
import { measureJobs } from './scenarios/many-jobs.ts';
import { measurePrefix, type PrefixResult } from './scenarios/one-prefix.ts';
import { describeTable, isFailure, measureTable, type TableRow, verdictOf } from './table.ts';

const progress = createProgress();
const say = (lines: readonly string[]) => void process.stdout.write(`${lines.join('\n')}\n`);

/** The lines to print, the result to write, and whether all targets are met. */
interface Outcome {
  readonly lines: readonly string[];
  readonly json: unknown;
  readonly chart?: PrefixResult;
  readonly passed: boolean;
}

const outcomeOf = <T extends { checks: readonly CountCheck[] }>(
  result: T,
  describe: (result: T) => string[],
): Outcome => ({ lines: describe(result), json: result, passed: wrongOnes(result.checks).length === 0 });

async function measureAll({ table, only, beside, scale, seed }: Options, runOn: RunOn): Promise<Outcome> {
  const wanted = (table || only ? allBenchmarks : growthBenchmarks).filter(
    ({ name, part }) => (only?.includes(name) ?? true) && (part === undefined || (beside?.has(part) ?? true)),
  );
  const sized = (full: number) => Math.max(1, Math.round(full * scale));
  const onRow = (row: TableRow) =>
    progress.step(`${verdictOf(row)}: ${row.what}: ${row.small}; ${row.full}: ${row.result} (${row.bar})`);
  const { rows, details } = await measureTable(
    wanted,
    { runOn, seed, sized, sizes: beside ?? new Map() },
    onRow,
  );
  const note =
    scale === 1 ? [] : ['', `Sizes were multiplied by ${scale}: the targets are meant for the full sizes.`];
  return {
    lines: [...describeTable(rows), ...note],
    json: { rows, details },
    passed: !rows.some(isFailure),
  };
}

async function measure(options: Options, runOn: RunOn): Promise<Outcome> {
  const { seed, files, duplicates, gzip, baseline } = options;
  if (options.table || options.growth || options.only) return measureAll(options, runOn);
  if (options.jobs !== undefined || options.idleJobs !== undefined) {
    const layout = options.layout ?? 'a';
    const result = await runOn('jobs', (bench) =>
      measureJobs(bench, {
        jobs: options.jobs ?? 0,
        idleJobs: options.idleJobs ?? 0,
        history: options.history,
        rows: options.rows ?? 1_000,
        duplicates,
        layout,
        keys: options.attributes ?? 20,
        gzip,
        seed,
      }),
    );
    return outcomeOf(result, describeJobs);
  }
  const layout = options.layout ?? 'b';
  const keys = options.attributes ?? (layout === 'a' ? 20 : 4);
  const rows = options.rows ?? 1_000_000;
  const result = await runOn('load', (bench) =>
    measurePrefix(bench, { rows, files, duplicates, layout, keys, gzip, seed, baseline }),
  );
  return { ...outcomeOf(result, describePrefix), chart: result };
}

function write(file: string, { json, chart }: Outcome): void {
  writeFileSync(file, `${JSON.stringify(json, null, 2)}\n`);
  if (!chart) return;
  const picture = `${file.replace(/\.json$/, '')}.svg`;
  writeFileSync(picture, drawChart(chart));
  progress.step(`wrote ${picture}`);
}

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort());
  const { profile, keep, brokers, members } = options;
  try {
    const outcome = await measure(
      options,
      createRunOn({ progress, signal: stop.signal, profile, keep, cluster: { brokers, members }, say }),
    );
    say(outcome.lines);
    if (options.json !== undefined) write(options.json, outcome);
    process.exitCode = outcome.passed ? 0 : 1;
  } catch (error) {
    progress.step(stop.signal.aborted ? 'stopped' : `failed: ${(error as Error).stack ?? error}`);
    process.exitCode = 1;
  }
}

await createProgram(run).parseAsync();
