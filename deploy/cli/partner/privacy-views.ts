/** Privacy requests as readable lines. */
import { count } from '../../../api/client/format.ts';
import type { PrivacyRequest, PrivacyRequestDetails } from '../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { heading, none, statusWord, when } from '../show.ts';
import { errorLines } from './import-views.ts';

const counted = (number: number | null) => (number === null ? none : count(number));

export const requestLines = (requests: readonly PrivacyRequest[], colours: Paint): string[] =>
  table(
    [
      heading(['ID', 'TYPE', 'STATUS', 'IDENTIFIERS', 'FOUND', 'CREATED', 'PATH'], colours),
      ...requests.map((request) => [
        String(request.request_id),
        request.type,
        statusWord(request.status, colours),
        counted(request.identifiers),
        counted(request.found),
        when(request.created_at),
        printable(request.file_path ?? ''),
      ]),
    ],
    [0, 3, 4],
  );

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
