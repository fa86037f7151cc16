/** The outcome of a load test as readable lines. */

import { bytes, count, plural } from '../../../api/client/format.ts';
import { type Paint, table } from '../../../pipeline/runtime/terminal.ts';
import { type LoadReport, phases } from './report.ts';

const MAX_SHOWN = 20;

export const seconds = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(1)} s`;

function wrongLines({ counts }: LoadReport, { red, green }: Paint): string[] {
  const { checked, wrong } = counts;
  if (wrong.length === 0) return [green(`${count(checked)} of ${plural(checked, 'count')} correct`)];
  const lines = wrong
    .slice(0, MAX_SHOWN)
    .map(
      ({ job, what, expected, found }) =>
        `  job ${job}: ${what} is ${count(found)}, expected ${count(expected)}`,
    );
  const more = wrong.length > MAX_SHOWN ? [`  … and ${count(wrong.length - MAX_SHOWN)} more`] : [];
  return [red(`${count(wrong.length)} of ${plural(checked, 'count')} wrong`), ...lines, ...more];
}

export const rampLine = ({ highest_rate, steps }: NonNullable<LoadReport['ramp']>): string =>
  highest_rate === null
    ? `not even ${steps[0]?.rate} jobs/s holds`
    : `the highest rate that holds: ${highest_rate} jobs/s${steps.at(-1)!.held ? ', the end of the ramp' : ''}`;

export function summaryLines(report: LoadReport, colours: Paint): string[] {
  const { load, upload, latency, plan, errors } = report;
  const layout = plan.layout === 'a' ? 'imports of attributes' : 'audiences with events';
  return [
    ...table([
      ['layout', `${plan.layout}, ${layout}; seed ${plan.seed}`],
      ['uploaded', `${plural(upload.files, 'file')}, ${bytes(upload.bytes)} in ${seconds(upload.seconds)}`],
      [
        'loaded',
        `${plural(load.jobs, 'job')}, ${plural(load.files, 'file')}, ${plural(load.rows, 'row')} in ${seconds(load.seconds)}`,
      ],
      ['speed', `${count(load.rows_per_second)} rows/s, ${load.files_per_second} files/s`],
    ]),
    '',
    ...table(
      [
        ['LATENCY', 'P50', 'P90', 'P99', 'MAX'].map(colours.bold),
        ...phases.map((phase) => {
          const { p50, p90, p99, max } = latency[phase];
          return [phase, ...[p50, p90, p99, max].map(seconds)];
        }),
      ],
      [1, 2, 3, 4],
    ),
    '',
    ...(report.ramp ? [rampLine(report.ramp)] : []),
    ...wrongLines(report, colours),
    ...errors.slice(0, MAX_SHOWN).map(({ code, message, count }) => `  ${count} times ${code}: ${message}`),
  ];
}
