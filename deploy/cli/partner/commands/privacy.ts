/** `headrace privacy …`: a partner's privacy requests. */
import { writeFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { listRecords, privacyPath } from '../../../../api/client/client.ts';
import { count, plural } from '../../../../api/client/format.ts';
import type { PrivacyRequest, PrivacyRequestDetails } from '../../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../../pipeline/runtime/terminal.ts';
import { MAX_IDENTIFIERS } from '../../../../schemas/identifier-text.ts';
import { privacyTypes } from '../../../../schemas/job-documents.ts';
import { between, wholeNumber } from '../../parse-options.ts';
import { identifiersArgument, identifiersIn } from '../../read-identifiers.ts';
import { type Columns, listLines, none, statusWord, when } from '../../show.ts';
import { CommandError, exitCodes, usageError } from '../exit-codes.ts';
import { follow } from '../follow-job.ts';
import { errorLines } from '../import-views.ts';
import type { CommandContext } from '../run-command.ts';
import { addCommand, addGroup, withFollow } from '../subcommands.ts';

const DEFAULT_LIMIT = 30;
const toItsEnd = 'the end of the request';
const receiptOption = ['--receipt <file>', 'save the signed receipt to a new file'] as const;

interface FollowOptions {
  follow?: boolean;
  receipt?: string;
}
interface RequestOptions extends FollowOptions {
  type: PrivacyRequest['type'];
  path?: string;
}

const failed = (code: string, message: string) => new CommandError(exitCodes.failed, code, message);

function subjectsOf(file: string | undefined, path: string | undefined) {
  if ((file === undefined) === (path === undefined))
    throw usageError('pass either a file of identifiers or --path');
  if (file === undefined) return { body: { file_path: path }, what: `the devices in ${path}` };
  const identifiers = identifiersIn(file);
  if (identifiers.length > MAX_IDENTIFIERS)
    throw failed(
      'too_many_identifiers',
      `more than ${plural(MAX_IDENTIFIERS, 'identifier')}: upload the file to your storage, and pass it with --path`,
    );
  return { body: { identifiers }, what: plural(identifiers.length, 'identifier') };
}

async function show(context: CommandContext, id: number, { follow: isFollowed, receipt }: FollowOptions) {
  const read = async (options = {}) =>
    (await context.api.get<PrivacyRequestDetails>(`${privacyPath}/${id}`, options)).data;
  const followed = { name: `request ${id}`, again: `headrace privacy show ${id} --follow` };
  const ended = isFollowed
    ? await follow(followed, context, async (options, tell) => {
        const request = await read(options);
        if (request.status >= 2) return request;
        tell(`request ${id}  ${request.status === 0 ? 'pending' : 'running'}`);
        return undefined;
      })
    : await read();
  await context.print(ended, () => requestDetails(ended, context.colours));
  if (receipt !== undefined) {
    if (ended.receipt === null)
      throw failed('no_receipt', `request ${id} has not ended: there is no receipt yet`);
    await writeFile(receipt, `${ended.receipt}\n`, { flag: 'wx' }).catch((error: Error) => {
      throw failed('unwritable', error.message);
    });
    context.say(`wrote the receipt to ${receipt}`);
  }
  if (isFollowed && ended.status === 3)
    throw new CommandError(exitCodes.jobFailed, 'job_failed', `request ${id} failed: nothing was done`);
}

const requestColumns = (colours: Paint): Columns<PrivacyRequest> => ({
  ID: ({ request_id }) => String(request_id),
  TYPE: ({ type }) => type,
  STATUS: ({ status }) => statusWord(status, colours),
  IDENTIFIERS: ({ identifiers }) => identifiers ?? none,
  FOUND: ({ found }) => found ?? none,
  CREATED: ({ created_at }) => when(created_at),
  PATH: ({ file_path }) => printable(file_path ?? ''),
});
const requestLines = (requests: readonly PrivacyRequest[], colours: Paint): string[] =>
  listLines(requests, requestColumns(colours), colours);

const counted = (number: number | null) => (number === null ? none : count(number));

/** Ends with one line of JSON per device found. */
const requestDetails = (request: PrivacyRequestDetails, colours: Paint): string[] => [
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

export function register(program: Command): void {
  const group = addGroup(
    program,
    'privacy',
    'privacy requests: delete, return or restore your data about devices',
  );

  withFollow(addCommand(group, 'request', 'queue a request about devices'), toItsEnd)
    .argument('[file]', identifiersArgument)
    .addOption(new Option('--type <type>', 'what to do').choices([...privacyTypes]).makeOptionMandatory())
    .option('--path <path>', 'instead: a file below your prefix, with identifiers in its first column')
    .option(...receiptOption)
    .confirms((_file, { type }: RequestOptions) =>
      type === 'delete'
        ? 'Permanently delete all your data about these devices, and suppress them in later loads?'
        : undefined,
    )
    .runs(async (context, file: string | undefined, options: RequestOptions) => {
      const { type, path, receipt } = options;
      if (receipt !== undefined && !options.follow) throw usageError('--receipt needs --follow');
      const { body, what } = subjectsOf(file, path);
      const { data } = await context.api.change<{ request_id: number }>('POST', privacyPath, {
        type,
        ...body,
      });
      if (options.follow) return show(context, data.request_id, options);
      await context.print(data, () => [
        `submitted request ${data.request_id}: ${type} ${what}`,
        `follow it with: headrace privacy show ${data.request_id} --follow`,
      ]);
    });

  addCommand(group, 'list', 'list privacy requests, newest first')
    .option('--limit <n>', 'maximum number to list', between(1, 1_000_000), DEFAULT_LIMIT)
    .runs(async ({ api, print, colours }, options: { limit: number }) => {
      const requests = await listRecords<PrivacyRequest>(api, privacyPath, options);
      await print(requests, () => requestLines(requests, colours));
    });

  withFollow(
    addCommand(group, 'show', 'show a privacy request, with the data found by an access request'),
    toItsEnd,
  )
    .argument('<id>', 'request_id', wholeNumber)
    .option(...receiptOption)
    .runs((context, id: number, options: FollowOptions) => show(context, id, options));
}
