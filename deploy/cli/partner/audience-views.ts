/** Audiences as readable lines. */

import { count, plural } from '../../../api/client/format.ts';
import type { Audience, Load } from '../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { type Columns, listLines, statusWord, when } from '../show.ts';
import {
  errorLines,
  matchLines,
  outcomeWord,
  rejectedCount,
  rejectedDetails,
  rejectedText,
} from './import-views.ts';

/** Matches counted by loads miss later changes of the marketplace. */
const matchedAt = ({ matched_at, matched_by }: Audience): string =>
  matched_at === null ? '' : `${when(matched_at)} (by ${matched_by})`;

/** A clear removed the devices of cleared loads. */
const loadStatus = ({ status, cleared }: Load, colours: Paint): string =>
  cleared ? `${statusWord(status, colours)}, cleared` : statusWord(status, colours);

const audienceColumns = (colours: Paint): Columns<Audience> => ({
  ID: ({ audience_id }) => String(audience_id),
  STATUS: ({ status }) => statusWord(status, colours),
  DEVICES: ({ unique_devices }) => unique_devices,
  MATCHED: ({ matched_devices }) => matched_devices,
  'MATCHED AT': matchedAt,
  REJECTED: ({ rows_rejected }) => rejectedCount(rows_rejected),
  CREATED: ({ created_at }) => when(created_at),
  NAME: ({ name }) => printable(name),
});
export const audienceLines = (audiences: readonly Audience[], colours: Paint): string[] =>
  listLines(audiences, audienceColumns(colours), colours);

const loadColumns = (colours: Paint): Columns<Load> => ({
  LOAD: ({ load_id }) => String(load_id),
  STATUS: (load) => loadStatus(load, colours),
  FILES: ({ files_done, files }) => `${count(files_done)} of ${count(files)}`,
  ROWS: ({ total_rows }) => total_rows,
  'NEW DEVICES': ({ new_devices }) => new_devices ?? '',
  PATH: ({ file_path }) => printable(file_path),
  REJECTED: ({ rows_rejected }) => rejectedText(rows_rejected ?? {}),
});

export const audienceDetails = (audience: Audience, loads: readonly Load[], colours: Paint): string[] => [
  ...table([
    ['audience', String(audience.audience_id)],
    ['name', printable(audience.name)],
    ['status', statusWord(audience.status, colours)],
    ['devices', count(audience.unique_devices)],
    ['uploaded', count(audience.uploaded_devices)],
    ['matched', `${count(audience.matched_devices)}  ${matchedAt(audience)}`.trimEnd()],
    ['rejected', rejectedDetails(audience.rows_rejected)],
    ['segment', String(audience.default_warehouse_segment_id)],
    ['created', when(audience.created_at)],
    ['updated', when(audience.updated_at)],
    ...(audience.cleared_at === null ? [] : [['cleared', when(audience.cleared_at)]]),
  ]),
  ...(loads.length > 0 ? ['', ...listLines(loads, loadColumns(colours), colours)] : []),
  ...loads.flatMap((load) => [...matchLines(load), ...errorLines(load.errors)]),
];

export function loadOutcome(audience: number, load: Load, colours: Paint): string[] {
  const { load_id, file_path, total_rows, unique_devices, new_devices } = load;
  const fresh = new_devices === null ? '' : `, ${count(new_devices)} of them new`;
  const work = `${plural(total_rows, 'row')}, ${plural(unique_devices, 'device')}${fresh}`;
  return [
    `audience ${audience}  load ${load_id}  ${outcomeWord(load, colours)}  ${printable(file_path)}  ${work}`,
    ...matchLines(load),
    ...errorLines(load.errors),
  ];
}
