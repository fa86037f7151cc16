/** The result of a load as text: the ratio first, then where the time and the memory went. */
import { wrongOnes } from './check-counts.ts';
import type { PrefixResult } from './scenarios/one-prefix.ts';

export const count = (number: number): string => Math.round(number).toLocaleString('en-US');
export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** Columns as wide as their widest cell; numbers to the right. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]!.length))) ?? [];
  return rows.map(
    (row) =>
      `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')}`,
  );
}

const share = (part: number, whole: number) => `${whole > 0 ? ((100 * part) / whole).toFixed(0) : 0} %`;

function processLines({ processes, seconds }: PrefixResult): string[] {
  const total = Object.values(processes).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const rows = Object.entries(processes).map(([name, use]) => [
    name,
    `${use.cpuSeconds.toFixed(2)} s`,
    share(use.cpuSeconds, total),
    `${use.peakRssMb.toFixed(0)} MB`,
    `${use.highWaterMb.toFixed(0)} MB`,
  ]);
  const busy = `${(total / seconds).toFixed(2)} cores busy`;
  return [`process (${busy})`, ...columns([['', 'CPU', 'share', 'peak RSS', 'since its start'], ...rows])];
}

function stageLines({ pipeline, seconds }: PrefixResult): string[] {
  const stages = Object.entries(pipeline.stageSeconds).toSorted((a, b) => b[1] - a[1]);
  if (stages.length === 0) return ['stages: the pipeline does not count headrace_stage_seconds_total'];
  const rows = stages.map(([stage, value]) => [stage, `${value.toFixed(2)} s`, share(value, seconds)]);
  return ['stage', ...columns([['', 'seconds', 'of the run'], ...rows])];
}

export function describePrefix(result: PrefixResult): string[] {
  const { layout, rows, files, duplicates, keys, gzip, baselineResult, storage } = result;
  const what = layout === 'a' ? 'attributes' : 'events';
  const lead =
    baselineResult && result.ratio
      ? [
          `${result.ratio.toFixed(1)} times the baseline: ${count(result.rowsPerSecond)} rows/s against ${count(baselineResult.rowsPerSecond)}`,
          `(bulk upserts of the first ${count(baselineResult.rows)} rows; that rate falls as the collection grows)`,
        ]
      : [`${count(result.rowsPerSecond)} rows/s`];
  const wrong = wrongOnes(result.checks);
  return [
    ...lead,
    '',
    `layout ${layout}, ${count(rows)} rows, ${files} files${gzip ? ' (gzip)' : ''} of ${megabytes(result.fileBytes)} in all, ${duplicates * 100} % duplicates, ${keys} ${what}, seed ${result.seed}`,
    `${result.seconds.toFixed(2)} s from POST to done`,
    wrong.length === 0
      ? `all ${result.checks.length} counts are right`
      : `WRONG: ${wrong.length} of ${result.checks.length} counts`,
    ...wrong.map(({ what: name, expected, actual }) => `  ${name}: expected ${expected}, found ${actual}`),
    '',
    ...processLines(result),
    '',
    ...stageLines(result),
    '',
    'topic',
    ...columns(Object.entries(result.topicBytes).map(([topic, bytes]) => [topic, megabytes(bytes)])),
    '',
    `MongoDB: ${storage.bytesPerMembership.toFixed(1)} bytes a membership (${count(storage.memberships)} memberships, chunks and manifests ${megabytes(storage.dataBytes)}, their indexes ${megabytes(storage.indexBytes)})`,
  ];
}
