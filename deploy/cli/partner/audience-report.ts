/** `headrace audience report`: the composition of an audience. The service computes it on request; this command waits. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { audiencePath, readBody } from '../../../api/client/client.ts';
import { count, indexNumber, percent } from '../../../api/client/format.ts';
import type { Composition, Computing, ReportLink } from '../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { between, duration, wholeNumber } from '../parse-options.ts';
import { bar } from '../progress-line.ts';
import { heading, none, when } from '../show.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { passOn } from './rejected-rows.ts';
import { type CommandContext, runCommand } from './run-command.ts';
import { addCommand } from './subcommands.ts';

interface ReportOptions {
  csv?: boolean;
  own?: boolean;
  top: number;
}

const DEFAULT_TOP = 20;
/** The maximum number of overlaps of a report. */
const MAX_PAGE = 1_000;
const cell = (value: number | null, format: (value: number) => string) =>
  value === null ? none : format(value);

/** Waits for the response with the report. */
async function computed(context: CommandContext, audience: number, path: string): Promise<Response> {
  const { api, signal, progress, timeoutMs = Number.POSITIVE_INFINITY } = context;
  const since = performance.now();
  try {
    for (;;) {
      const response = await api.open(path);
      if (response.status !== 202) return response;
      const waitMs = 1_000 * Number(response.headers.get('Retry-After') ?? 1);
      const computing = await readBody<Computing>(response);
      if (performance.now() - since + waitMs > timeoutMs)
        throw new CommandError(
          exitCodes.stillRunning,
          'still_running',
          `the report is still being computed; try again with: headrace audience report ${audience}`,
        );
      progress.show(`computing the report  ${bar(computing.progress)}`);
      await sleep(waitMs, undefined, { signal });
    }
  } finally {
    progress.clear();
  }
}

function section(
  title: string,
  rows: string[][],
  { texts, numbers }: { texts: string[]; numbers: string[] },
  { colours, top, total = rows.length }: { colours: Paint; top: number; total?: number },
): string[] {
  if (rows.length === 0) return [];
  const names = [...texts, ...numbers];
  const right = names.map((_, i) => i).slice(texts.length);
  const more = total > top ? [`… and ${count(total - top)} more: --top, --csv or --json`] : [];
  return [
    '',
    colours.bold(title),
    ...table([heading(names, colours), ...rows.slice(0, top)], right),
    ...more,
  ];
}

function reportLines(report: Composition, colours: Paint, top: number): string[] {
  const attributes = report.attributes.map((row) => [
    `${printable(row.name)} (${row.attribute_id})`,
    `${printable(row.owner)}${row.visibility === 'private' ? ' (private)' : ''}`,
    count(row.devices),
    percent(row.share),
    indexNumber(row.index),
  ]);
  const events = report.events.map((row) => [
    printable(row.event),
    cell(row.devices, count),
    cell(row.rows, count),
  ]);
  const overlaps = report.overlaps.map((row) => [
    `${printable(row.name)} (${row.audience_id})`,
    count(row.devices),
    percent(row.share_of_this),
    percent(row.share_of_other),
  ]);
  return [
    ...table([
      ['audience', `${report.audience_id}  ${printable(report.name)}`],
      ['devices', count(report.unique_devices)],
      ['matched', `${cell(report.matched_devices, count)} (${cell(report.match_rate, percent)})`],
      ['computed', `${when(report.computed_at)}${report.current ? '' : '  (out of date)'}`],
      ...(report.floor > 0 ? [['hidden', `${none} counts below ${count(report.floor)}`]] : []),
    ]),
    ...section(
      'Attributes',
      attributes,
      { texts: ['NAME', 'OWNER'], numbers: ['DEVICES', 'SHARE', 'INDEX'] },
      { colours, top },
    ),
    ...section('Events', events, { texts: ['EVENT'], numbers: ['DEVICES', 'ROWS'] }, { colours, top }),
    ...section(
      'Overlaps',
      overlaps,
      { texts: ['AUDIENCE'], numbers: ['DEVICES', 'OF THIS', 'OF OTHER'] },
      { colours, top, total: report.overlap_count },
    ),
    ...(report.overlaps_complete ? [] : ['Compared with the 1,000 largest other audiences.']),
  ];
}

/** In seconds. */
const sharedFor = (text: string): number => {
  const seconds = duration(text) / 1_000;
  if (!Number.isInteger(seconds) || seconds < 60 || seconds > 30 * 86_400)
    throw new InvalidArgumentError('expected a duration from 1m to 30d');
  return seconds;
};

function registerAudienceShare(group: Command): void {
  addCommand(group, 'share', 'create a link that shows the report, read-only, to everyone who has it')
    .argument('<id>', 'audience_id', wholeNumber)
    .option('--expires <duration>', 'lifetime of the link, from 1m to 30d (default: 7d)', sharedFor)
    .action((audience: number, { expires: expires_in }: { expires?: number }, command: Command) =>
      runCommand(command, async ({ api, settings, print, say }) => {
        const path = `${audiencePath}/${audience}/composition/share`;
        const { data } = await api.change<ReportLink>('POST', path, { expires_in });
        // Without a public URL, the service returns only a path.
        const url = new URL(data.url, settings.api_url).href;
        await print({ ...data, url }, () => [url]);
        say(`works until ${when(data.expires_at)}`);
      }),
    );
}

export function registerAudienceReport(group: Command): void {
  addCommand(group, 'report', 'show the composition report: attributes, events, overlaps')
    .argument('<id>', 'audience_id', wholeNumber)
    .option('--csv', 'print CSV, with all rows')
    .option('--own', 'only your own attributes')
    .option('--top <n>', 'rows of each table', between(1, 1_000_000), DEFAULT_TOP)
    .option(
      '--timeout <duration>',
      'maximum time to wait, such as 90s, 5m or 2h (default: no limit)',
      duration,
    )
    .action((audience: number, options: ReportOptions, command: Command) =>
      runCommand(command, async (context) => {
        const path = `${audiencePath}/${audience}/composition`;
        const query = `?format=${options.csv ? 'csv' : 'json'}${options.own ? '&attributes=own' : ''}`;
        const response = await computed(context, audience, path + query);
        if (options.csv || context.isJson) return passOn(response);
        const report = await readBody<Composition>(response);
        if (Math.min(options.top, report.overlap_count) > report.overlaps.length)
          report.overlaps = await readBody(
            await computed(context, audience, `${path}/overlaps?limit=${MAX_PAGE}`),
          );
        await context.print(report, () => reportLines(report, context.colours, options.top));
      }),
    );

  registerAudienceShare(group);
}
