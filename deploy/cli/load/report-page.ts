/** The report as a self-contained web page. */

import { bytes, count, plural } from '../../../api/client/format.ts';
import { Html, html } from '../../../api/describe/asyncapi/html.ts';
import { histogram, overTime, type Point } from './charts.ts';
import { type LoadReport, phases } from './report.ts';
import { reportStyle } from './report-style.ts';
import { rampLine, seconds } from './summary.ts';

const MAX_ROWS = 200;

const heading = (names: readonly string[]) =>
  html`<thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>`;

const tableOf = (names: readonly string[], rows: readonly (readonly (string | number | Html)[])[]): Html =>
  html`<div class="scroll" tabindex="0"><table>${heading(names)}<tbody>${rows
    .slice(0, MAX_ROWS)
    .map(
      (cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
    )}</tbody></table></div>${rows.length > MAX_ROWS ? html`<p>and ${rows.length - MAX_ROWS} more, in the JSON report</p>` : ''}`;

type Counter = 'rows' | 'files';

/** The service records progress once per second; over shorter intervals the speed would jump. */
const SPEED_OVER_S = 2;

function perSecond(samples: LoadReport['samples'], of: Counter): Point[] {
  let from = 0;
  return samples.slice(1).map((sample) => {
    while (samples[from + 1]!.at <= sample.at - SPEED_OVER_S) from++;
    const before = samples[from]!;
    return { at: sample.at, value: Math.max(0, sample[of] - before[of]) / (sample.at - before.at || 1) };
  });
}

function figures({ load, upload, counts, failed_jobs }: LoadReport): Html {
  const isRight = counts.wrong.length === 0 && failed_jobs === 0;
  const values: [string, string | Html][] = [
    ['Rows', count(load.rows)],
    ['Files', count(load.files)],
    ['Jobs', count(load.jobs)],
    ['Time', seconds(load.seconds)],
    ['Rows/s', count(load.rows_per_second)],
    ['Files/s', String(load.files_per_second)],
    ['Uploaded', bytes(upload.bytes)],
    [
      'Counts',
      isRight
        ? html`<span class="good">${count(counts.checked)} of ${count(counts.checked)} correct</span>`
        : html`<span class="bad">${count(counts.wrong.length)} wrong, ${plural(failed_jobs, 'failed job')}</span>`,
    ],
  ];
  return html`<dl>${values.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

const section = (title: string, ...content: Html[]): Html =>
  html`<section><h2>${title}</h2>${content}</section>`;

function latencies({ latency, jobs }: LoadReport): Html[] {
  const rows = phases.map((phase) => {
    const { p50, p90, p99, max } = latency[phase];
    return [phase, ...[p50, p90, p99, max].map(seconds)];
  });
  return [
    html`<p>Waiting: for the jobs before it. Loading: its files are read. Merging: its devices are stored, in the order of the jobs.</p>`,
    tableOf(['Phase', 'p50', 'p90', 'p99', 'max'], rows),
    ...phases.map(
      (phase) => html`<h3>Jobs by seconds: ${phase}</h3>
${histogram(
  `Jobs by seconds: ${phase}`,
  jobs.map((job) => job[phase]),
  latency.total.max,
)}`,
    ),
  ];
}

const rampSection = (ramp: NonNullable<LoadReport['ramp']>): Html =>
  section(
    'Ramp',
    html`<p>${rampLine(ramp)}</p>`,
    tableOf(
      ['Jobs/s', 'Jobs', 'Backlog before', 'Backlog at the end', 'Holds'],
      ramp.steps.map(({ rate, jobs, backlog_before, backlog_after, held }) => [
        rate,
        jobs,
        backlog_before.toFixed(1),
        backlog_after.toFixed(1),
        held ? html`<span class="good">yes</span>` : html`<span class="bad">no</span>`,
      ]),
    ),
  );

const errorSection = ({ errors, counts }: LoadReport): Html =>
  section(
    'Errors',
    ...(errors.length + counts.wrong.length === 0 ? [html`<p>None.</p>`] : []),
    ...(errors.length > 0
      ? [
          tableOf(
            ['Code', 'Count', 'Message'],
            errors.map(({ code, message, count }) => [code, count, message]),
          ),
        ]
      : []),
    ...(counts.wrong.length > 0
      ? [
          tableOf(
            ['Wrong count', 'Job', 'Expected', 'Found'],
            counts.wrong.map(({ what, job, expected, found }) => [what, job, count(expected), count(found)]),
          ),
        ]
      : []),
  );

function planText({ plan }: LoadReport): string {
  const { jobs, files, rows, duplicates, invalid, gzip, layout, attributes, seed } = plan;
  return [
    `layout ${layout}`,
    plural(jobs, 'prefix', 'prefixes'),
    `${plural(files, 'file')} each`,
    `${plural(rows, 'row')} a file`,
    ...(gzip ? ['gzip'] : []),
    `${duplicates * 100}% duplicates`,
    `${invalid * 100}% invalid`,
    `${plural(attributes, layout === 'a' ? 'attribute' : 'event')}`,
    `seed ${seed}`,
  ].join(', ');
}

export function reportPage(report: LoadReport): string {
  const { samples, service, started_at } = report;
  const queued = samples.map(({ at, queued }) => ({ at, value: queued }));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Load test of ${service}, ${started_at.slice(0, 16).replace('T', ' ')}</title>
<style>${new Html(reportStyle)}</style>
</head>
<body>
<main>
<h1>Load test</h1>
<p>${service}, ${started_at.slice(0, 19).replace('T', ' ')} UTC: ${planText(report)}</p>
${section('Result', figures(report))}
${report.ramp ? rampSection(report.ramp) : ''}
${section('Rows/s', overTime('Rows/s', perSecond(samples, 'rows')))}
${section('Files/s', overTime('Files/s', perSecond(samples, 'files')))}
${section('Queue depth', html`<p>Unfinished jobs of the service.</p>`, overTime('Queue depth', queued))}
${section('Latency', ...latencies(report))}
${errorSection(report)}
</main>
</body>
</html>
`.text;
}
