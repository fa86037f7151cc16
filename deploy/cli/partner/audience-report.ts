/** `headrace audience report`: the composition of an audience. The service computes it on request; this command waits. */
import { type Command, InvalidArgumentError } from 'commander';
import { audiencePath, readBody } from '../../../api/client/client.ts';
import { count, indexNumber, percent } from '../../../api/client/format.ts';
import type { Composition, Computing, ReportLink } from '../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { between, duration, wholeNumber } from '../parse-options.ts';
import { bar } from '../progress-line.ts';
import { type Columns, listLines, none, when } from '../show.ts';
import { follow } from './follow-job.ts';
import { passOn } from './rejected-rows.ts';
import type { CommandContext } from './run-command.ts';
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
const computed = (context: CommandContext, audience: number, path: string): Promise<Response> =>
  follow(
    { name: `the report of audience ${audience}`, again: `headrace audience report ${audience}` },
    context,
    async ({ maxLost }, show) => {
      const response = await context.api.open(path, { maxLost });
      if (response.status !== 202) return response;
      const { progress } = await readBody<Computing>(response);
      show(`computing the report  ${bar(progress)}`);
      return undefined;
    },
  );

const attributeColumns: Columns<Composition['attributes'][number]> = {
  NAME: ({ name, attribute_id }) => `${printable(name)} (${attribute_id})`,
  OWNER: ({ owner, visibility }) => `${printable(owner)}${visibility === 'private' ? ' (private)' : ''}`,
  DEVICES: ({ devices }) => devices,
  SHARE: ({ share }) => percent(share),
  INDEX: ({ index }) => indexNumber(index),
};
const eventColumns: Columns<Composition['events'][number]> = {
  EVENT: ({ event }) => printable(event),
  DEVICES: ({ devices }) => devices ?? none,
  ROWS: ({ rows }) => rows ?? none,
};
const overlapColumns: Columns<Composition['overlaps'][number]> = {
  AUDIENCE: ({ name, audience_id }) => `${printable(name)} (${audience_id})`,
  DEVICES: ({ devices }) => devices,
  'OF THIS': ({ share_of_this }) => percent(share_of_this),
  'OF OTHER': ({ share_of_other }) => percent(share_of_other),
};

function reportLines(report: Composition, colours: Paint, top: number): string[] {
  const section = <T>(title: string, rows: readonly T[], columns: Columns<T>, total = rows.length) => [
    ...(rows.length > 0 ? ['', colours.bold(title), ...listLines(rows.slice(0, top), columns, colours)] : []),
    ...(total > top ? [`… and ${count(total - top)} more: --top, --csv or --json`] : []),
  ];
  return [
    ...table([
      ['audience', `${report.audience_id}  ${printable(report.name)}`],
      ['devices', count(report.unique_devices)],
      ['matched', `${cell(report.matched_devices, count)} (${cell(report.match_rate, percent)})`],
      ['computed', `${when(report.computed_at)}${report.current ? '' : '  (out of date)'}`],
      ...(report.floor > 0 ? [['hidden', `${none} counts below ${count(report.floor)}`]] : []),
    ]),
    ...section('Attributes', report.attributes, attributeColumns),
    ...section('Events', report.events, eventColumns),
    ...section('Overlaps', report.overlaps, overlapColumns, report.overlap_count),
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
    .runs(
      async (
        { api, settings, print, say },
        audience: number,
        { expires: expires_in }: { expires?: number },
      ) => {
        const path = `${audiencePath}/${audience}/composition/share`;
        const { data } = await api.change<ReportLink>('POST', path, { expires_in });
        // Without a public URL, the service returns only a path.
        const url = new URL(data.url, settings.api_url).href;
        await print({ ...data, url }, () => [url]);
        say(`works until ${when(data.expires_at)}`);
      },
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
    .runs(async (context, audience: number, options: ReportOptions) => {
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
    });

  registerAudienceShare(group);
}
