/** Audiences as readable lines. */

import { count, plural } from '../../../api/client/format.ts';
import type { Audience, Load } from '../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { heading, statusWord, when } from '../show.ts';
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

export function audienceLines(audiences: readonly Audience[], colours: Paint): string[] {
  const rows = audiences.map((audience) => [
    String(audience.audience_id),
    statusWord(audience.status, colours),
    count(audience.unique_devices),
    count(audience.matched_devices),
    matchedAt(audience),
    rejectedCount(audience.rows_rejected),
    when(audience.created_at),
    printable(audience.name),
  ]);
  return table(
    [
      heading(['ID', 'STATUS', 'DEVICES', 'MATCHED', 'MATCHED AT', 'REJECTED', 'CREATED', 'NAME'], colours),
      ...rows,
    ],
    [0, 2, 3, 5],
  );
}

function loadLines(loads: readonly Load[], colours: Paint): string[] {
  const rows = loads.map((load) => [
    String(load.load_id),
    loadStatus(load, colours),
    `${count(load.files_done)} of ${count(load.files)}`,
    count(load.total_rows),
    load.new_devices === null ? '' : count(load.new_devices),
    printable(load.file_path),
    rejectedText(load.rows_rejected ?? {}),
  ]);
  const names = ['LOAD', 'STATUS', 'FILES', 'ROWS', 'NEW DEVICES', 'PATH', 'REJECTED'];
  return table([heading(names, colours), ...rows], [0, 2, 3, 4]);
}

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
  ...(loads.length > 0 ? ['', ...loadLines(loads, colours)] : []),
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
