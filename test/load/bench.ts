/** `npm run bench`: how fast the real service is, with all guarantees and its default settings. */
import { writeFileSync } from 'node:fs';
import { drawChart } from './chart.ts';
import { type CountCheck, wrongOnes } from './check-counts.ts';
import { createProgram, type Options } from './options.ts';
import { createProgress } from './progress.ts';
import { describeAppend, describeComposition, describeJobs, describePrefix } from './report.ts';
import { createRunOn, type RunOn } from './run-on-stack.ts';
import { measureAppend } from './scenarios/append.ts';
import { measureComposition } from './scenarios/composition.ts';
import { measureJobs } from './scenarios/many-jobs.ts';
import { measurePrefix, type PrefixResult } from './scenarios/one-prefix.ts';
import { describeTable, measureTable } from './scenarios/table.ts';

const progress = createProgress();
const say = (lines: readonly string[]) => void process.stdout.write(`${lines.join('\n')}\n`);

/** The lines to print, the result to write, and whether all targets were met. */
interface Outcome {
  readonly lines: readonly string[];
  readonly json: unknown;
  readonly charts?: Record<string, PrefixResult>;
  readonly passed: boolean;
}

const outcomeOf = <T extends { checks: readonly CountCheck[] }>(
  result: T,
  describe: (result: T) => string[],
): Outcome => ({ lines: describe(result), json: result, passed: wrongOnes(result.checks).length === 0 });

async function measure(options: Options, runOn: RunOn): Promise<Outcome> {
  const { seed, files, duplicates, gzip, baseline, scale } = options;
  if (options.table) {
    const onRow = (row: Parameters<typeof describeTable>[0][number]) =>
      progress.step(`${row.passed ? 'pass' : 'FAIL'}: ${row.what}: ${row.measured} (${row.bar})`);
    const { rows, results, loads } = await measureTable(runOn, { scale, seed, onRow });
    const note =
      scale === 1 ? [] : ['', `Sizes were multiplied by ${scale}: the targets are meant for the full sizes.`];
    return {
      lines: [...describeTable(rows), ...note],
      json: { rows, results },
      charts: loads,
      passed: rows.every(({ passed }) => passed),
    };
  }
  if (options.composition) {
    const sizes = {
      devices: options.rows ?? Math.round(1_000_000 * scale),
      attributes: options.attributes ?? 200,
      attributeDevices: Math.round(100_000 * scale),
    };
    const result = await runOn('composition', (bench) => measureComposition(bench, { ...sizes, seed }));
    return outcomeOf(result, describeComposition);
  }
  if (options.append) {
    const devices = options.rows ?? 10_000_000;
    const events = options.attributes ?? 4;
    const result = await runOn('append', (bench) =>
      measureAppend(bench, { devices, appended: 10_000, files, events, seed }),
    );
    return outcomeOf(result, describeAppend);
  }
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
  return { ...outcomeOf(result, describePrefix), charts: { '': result } };
}

function write(file: string, { json, charts = {} }: Outcome): void {
  writeFileSync(file, `${JSON.stringify(json, null, 2)}\n`);
  for (const [name, result] of Object.entries(charts)) {
    const chart = `${file.replace(/\.json$/, '')}${name === '' ? '' : `.${name}`}.svg`;
    writeFileSync(chart, drawChart(result));
    progress.step(`wrote ${chart}`);
  }
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
