/** What a partner's engineer reads first. Codes and limits come from the tables and the configuration that are in force. */
import { fileFailureCodes, jobFailureCodes, rejectCodes } from '../../schemas/codes.ts';
import type { Config } from '../../schemas/config.ts';
import { problems } from '../../schemas/problems.ts';

export type Described = Pick<
  Config,
  | 'publicUrl'
  | 'topicPrefix'
  | 'limitBodyBytes'
  | 'limitJsonDepth'
  | 'limitKeys'
  | 'limitPathBytes'
  | 'maxInvalidShare'
  | 'rejectsPerFile'
  | 'ratePerSecond'
  | 'rateBurst'
  | 'maxPendingJobs'
>;

const number = (value: number) => value.toLocaleString('en');
const rows = (...lines: (string | number)[][]) => lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
const table = (head: string[], ...lines: (string | number)[][]) =>
  rows(
    head,
    head.map(() => '---'),
    ...lines,
  );
const codes = (list: Record<string, string>) =>
  table(['code', 'meaning'], ...Object.entries(list).map(([code, meaning]) => [`\`${code}\``, meaning]));

const steps = (config: Described) => `
Files of mobile advertising identifiers, from object storage into exact device sets: marketplace attributes and first-party
audiences.

## First steps

On provisioning you received an API key, and a bucket, a path prefix and access keys for the shared import storage.

1. Upload a file under your prefix, say \`<prefix>/day/devices.csv\`, with any S3 client.
2. Queue it. Bucket and prefix are left out of the path:
   \`\`\`text
   curl ${config.publicUrl ?? '<base_url>'}/v1/marketplace/import \\
     -H 'Authorization: Bearer <API_KEY>' \\
     -H 'Content-Type: application/json' \\
     -d '{"file_path": "day/devices.csv",
          "key_type": 0}'
   \`\`\`
   The answer is \`{"import_log_id": 42}\`.
3. Ask \`/v1/marketplace/import/42\` until \`status\` is 2 (done) or 3 (error, with the reasons in \`errors\`).

An audience goes the same way: POST to \`/v2/firstparty/audience\`, then ask for its details. Why a load failed is told by
\`…/audience/<id>/loads\`.

Ask with \`If-None-Match\` and the \`ETag\` of the last answer: 304 means that nothing has changed.`;

const authentication = `
## Authentication

Every call needs your API key: \`Authorization: Bearer <API_KEY>\`. Missing, malformed, unknown or revoked: 401.

Audience calls also take \`x-user-token: <USER_TOKEN>\`, the token of one of your customers (a signed JWT that names you and
the customer). With it, audiences that you create belong to that customer, and only that customer’s audiences can be seen or
changed. Without it, the call acts for all of yours. Invalid, expired or of another partner: 401.

What is not yours answers as if it did not exist: 404.`;

const files = (config: Described) => `
## Files

UTF-8 text, a row a line, columns separated by comma, tab, semicolon or pipe; a header line is recognised. The first column
is the identifier, 32 hex digits in 8-4-4-4-12 form, in any case.

- **Marketplace import**: identifier, then one key or more, a column each: attribute_ids or partner_foreign_keys, by \`key_type\`.
- **Audience**: exactly two columns, identifier and event; the event may be empty.

A file loads whole or not at all. It fails when more than ${config.maxInvalidShare * 100} % of its rows are malformed. The other files of the same
prefix load nevertheless, and the job then has status 3. Rejected rows are listed under \`…/rejects\`, up to
${number(config.rejectsPerFile)} a file.`;

const order = `
## Order and status

Jobs complete in the order in which they were accepted, deletions included. Only the clear of an audience acts at once.

| status | meaning |
| --- | --- |
| 0 | pending: waits for earlier jobs |
| 1 | running |
| 2 | done without errors |
| 3 | error |`;

const repeat = `
## Repeating a request

Send an \`Idempotency-Key\` of your choice with POST, PATCH, PUT and DELETE. If the answer was lost, send the same request with
the same key: within 24 hours you get the first answer again and nothing happens twice. The same key with another request
is 409. On 429 and 503 wait for as many seconds as \`Retry-After\` says.`;

const errors = () => `
## Errors

\`application/problem+json\` (RFC 9457). Switch on \`code\`, which is stable; \`errors\` names each field that breaks a rule; unknown fields
and query parameters are refused, so that a mistyped one does not pass in silence. \`instance\` is the request id, also in \`X-Request-Id\`.

${table(
  ['code', 'status and meaning'],
  ...Object.entries(problems).map(([code, { status, title }]) => [`\`${code}\``, `${status}: ${title}`]),
)}

### Why a job failed

In \`errors\` of an import log or of an audience’s load, beside the failures of its files:

${codes(jobFailureCodes)}

### Why a file failed

In \`errors\` of an import log and in \`failure\` under \`…/files\`:

${codes(fileFailureCodes)}

### Why a row was rejected

In \`rows_rejected\` under \`…/files\` and in every line of \`…/rejects\`:

${codes(rejectCodes)}`;

const limits = (config: Described) => `
## Limits

${table(
  ['what', 'limit'],
  ['body of a request', `${number(config.limitBodyBytes)} bytes, ${config.limitJsonDepth} levels deep`],
  ['`file_path`', `${number(config.limitPathBytes)} bytes`],
  ['`keys` of a deletion', number(config.limitKeys)],
  ['requests with one key', `${number(config.ratePerSecond)} a second, ${number(config.rateBurst)} at once`],
  ['jobs that have not ended', `${number(config.maxPendingJobs)}; beyond that 429 \`too_many_pending\``],
  ['import logs listed', '100'],
)}

Every answer to a request with a key says what is left, in \`RateLimit\`.`;

export const introduction = (config: Described): string =>
  [steps(config), authentication, files(config), order, repeat, errors(), limits(config)]
    .map((part) => part.trim())
    .join('\n\n');
