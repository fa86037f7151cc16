/** Benchmarks with targets: each compares a small or empty case with a full one and checks the result against its bar. */
import { type CountCheck, wrongOnes } from './check-counts.ts';
import type { RunOn } from './run-on-stack.ts';

export interface TableRow {
  readonly what: string;
  /** On an empty or small installation, or by other means. */
  readonly small: string;
  readonly full: string;
  readonly result: string;
  readonly bar: string;
  readonly passed: boolean;
  /** A future target: missing it is reported, but is no failure. */
  readonly isTarget?: boolean;
}

export interface Measured {
  readonly rows: readonly TableRow[];
  readonly checks: readonly CountCheck[];
  /** For the result file only. */
  readonly details?: unknown;
}

export interface BenchmarkContext {
  readonly runOn: RunOn;
  readonly seed: number;
  /** Requested sizes by part. */
  readonly sizes: ReadonlyMap<string, number | undefined>;
  /** A size at the scale of this run. */
  sized(full: number): number;
}

export interface Benchmark {
  readonly name: string;
  /** Distinguishes benchmarks with the same name. */
  readonly part?: string;
  measure(context: BenchmarkContext): Promise<Measured>;
}

type Compared = Pick<TableRow, 'what' | 'small' | 'full'>;

const digits = (value: number) => (value < 10 ? 2 : value < 100 ? 1 : 0);
const written = (value: number, unit: string) => `${value.toFixed(digits(value))} ${unit}`;

export const isFailure = ({ passed, isTarget }: TableRow): boolean => !passed && !isTarget;

export function verdictOf({ passed, isTarget }: TableRow): string {
  if (isTarget) return passed ? 'met' : 'missed';
  return passed ? 'pass' : 'FAIL';
}

export const atMost = (compared: Compared, value: number, bound: number, unit = 'times'): TableRow => ({
  ...compared,
  result: written(value, unit),
  bar: `≤ ${bound} ${unit}`,
  passed: value <= bound,
});

export const atLeast = (compared: Compared, value: number, bound: number, unit = 'times'): TableRow => ({
  ...compared,
  result: written(value, unit),
  bar: `≥ ${bound} ${unit}`,
  passed: value >= bound,
});

const failed = (what: string, bar: string, result: string): TableRow => ({
  what,
  small: '',
  full: '',
  result,
  bar,
  passed: false,
});

const titleOf = ({ name, part }: Benchmark) => (part === undefined ? name : `${name}, ${part}`);

/** A wrong count is a failure, however fast the run was. */
async function rowsOf(benchmark: Benchmark, context: BenchmarkContext) {
  const title = titleOf(benchmark);
  try {
    const { rows, checks, details } = await benchmark.measure(context);
    const wrong = wrongOnes(checks);
    const said = wrong.map(({ what, expected, actual }) => `${what}: ${actual} instead of ${expected}`);
    const bad =
      wrong.length === 0
        ? []
        : [failed(title, 'every count right', `${wrong.length} of ${checks.length} wrong, ${said[0]}`)];
    return { rows: [...rows, ...bad], details: { checks: checks.length, wrong, ...(details ?? {}) } };
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    return {
      rows: [failed(title, 'it ends', (error as Error).message.split('\n')[0]!)],
      details: { error: String((error as Error).stack) },
    };
  }
}

export async function measureTable(
  benchmarks: readonly Benchmark[],
  context: BenchmarkContext,
  onRow: (row: TableRow) => void,
) {
  const rows: TableRow[] = [];
  const details: Record<string, unknown> = {};
  for (const benchmark of benchmarks) {
    const found = await rowsOf(benchmark, context);
    details[titleOf(benchmark)] = found.details;
    rows.push(...found.rows);
    found.rows.forEach(onRow);
  }
  return { rows, details };
}

export function describeTable(rows: readonly TableRow[]): string[] {
  const lines = rows.map((row) => [row.what, row.small, row.full, row.result, row.bar, verdictOf(row)]);
  const heading = ['what', 'small, or compared with', 'full, or measured', 'result', 'bar', ''];
  return [heading, heading.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
}
