/** Privacy requests as readable lines. */
import { count } from '../../../api/client/format.ts';
import type { PrivacyRequest, PrivacyRequestDetails } from '../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { type Columns, listLines, none, statusWord, when } from '../show.ts';
import { errorLines } from './import-views.ts';

const requestColumns = (colours: Paint): Columns<PrivacyRequest> => ({
  ID: ({ request_id }) => String(request_id),
  TYPE: ({ type }) => type,
  STATUS: ({ status }) => statusWord(status, colours),
  IDENTIFIERS: ({ identifiers }) => identifiers ?? none,
  FOUND: ({ found }) => found ?? none,
  CREATED: ({ created_at }) => when(created_at),
  PATH: ({ file_path }) => printable(file_path ?? ''),
});
export const requestLines = (requests: readonly PrivacyRequest[], colours: Paint): string[] =>
  listLines(requests, requestColumns(colours), colours);

const counted = (number: number | null) => (number === null ? none : count(number));

/** Ends with one line of JSON per device found. */
export const requestDetails = (request: PrivacyRequestDetails, colours: Paint): string[] => [
  ...table([
    ['request', String(request.request_id)],
    ['type', request.type],
    ['status', statusWord(request.status, colours)],
    ...(request.file_path === null ? [] : [['path', printable(request.file_path)]]),
    ['identifiers', counted(request.identifiers)],
    ['found', counted(request.found)],
    ['created', when(request.created_at)],
    ['updated', when(request.updated_at)],
    ['receipt', request.receipt === null ? none : 'signed; save it with --receipt FILE'],
  ]),
  ...errorLines(request.errors),
  ...(request.devices ?? []).map((device) => printable(JSON.stringify(device))),
];
