/** The tables of the introduction: codes and limits, from the code tables and the configuration. */
import { fileFailureCodes, jobFailureCodes, rejectCodes } from '../../schemas/codes.ts';
import type { Config } from '../../schemas/config.ts';
import { deletionBytes } from '../../schemas/http.ts';
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
  | 'retentionDaysJobs'
  | 'retentionDaysRejects'
  | 'ratePerSecond'
  | 'rateBurstSeconds'
  | 'maxPendingJobs'
  | 'maxBytesPerDay'
  | 'maxRowsPerDay'
  | 'limitStreams'
  | 'userTokenAudience'
  | 'webhookTimeoutMs'
>;

const quota = (value: number, what: string) =>
  value === 0 ? `any number of ${what}` : `${number(value)} ${what}`;
export const number = (value: number) => value.toLocaleString('en');
const rows = (...lines: (string | number)[][]) => lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
export const table = (head: string[], ...lines: (string | number)[][]) =>
  rows(
    head,
    head.map(() => '---'),
    ...lines,
  );
const codes = (list: Record<string, string>) =>
  table(['code', 'meaning'], ...Object.entries(list).map(([code, meaning]) => [`\`${code}\``, meaning]));

export const errors = () => `
## Errors

Errors are \`application/problem+json\` (RFC 9457). \`code\` is stable: switch on it, not on the texts. \`errors\` lists each invalid
field. Unknown fields and query parameters are refused, so that a misspelled one is not silently ignored. \`instance\` is the request
id, as in \`X-Request-Id\`.

${table(
  ['code', 'status and meaning'],
  ...Object.entries(problems).map(([code, { status, title }]) => [`\`${code}\``, `${status}: ${title}`]),
)}

### Why a job failed

In \`errors\` of an import log or of an audience’s load, together with the failures of its files:

${codes(jobFailureCodes)}

### Why a file failed

In \`errors\` of an import log and in \`failure\` under \`…/files\`:

${codes(fileFailureCodes)}

### Why a row was rejected

In \`rows_rejected\` of every record and in every line of \`…/rejects\`:

${codes(rejectCodes)}`;

export const limits = (config: Described) => `
## Limits

${table(
  ['what', 'limit'],
  [
    'request body',
    `${number(config.limitBodyBytes)} bytes (of a deletion ${number(deletionBytes(config))}), ${config.limitJsonDepth} levels of nesting`,
  ],
  ['`file_path`', `${number(config.limitPathBytes)} bytes`],
  ['`keys` of a deletion', `${number(config.limitKeys)}, each of 256 bytes`],
  [
    'requests per API key',
    `${number(config.ratePerSecond)} per second, bursts of up to ${number(config.ratePerSecond * config.rateBurstSeconds)}`,
  ],
  ['unfinished jobs', `${number(config.maxPendingJobs)}; above that 429 \`too_many_pending\``],
  ['unfinished dry runs', '10, and 5 of one customer; above that 429 `too_many_pending`'],
  ['unfinished reports', '50, and 10 of one customer; above that 429 `too_many_pending`'],
  [
    'loaded per day (UTC)',
    `${quota(config.maxBytesPerDay, 'bytes')}, ${quota(config.maxRowsPerDay, 'rows')}`,
  ],
  ['import logs in the list', '100, unless `limit` is given'],
  ['webhooks', '10; above that 429 `too_many_webhooks`'],
  ['test events of webhooks', '10 per minute'],
  ['open event streams', `${number(config.limitStreams)}; above that 429 \`too_many_streams\``],
)}

Every authenticated response has the number of requests left in \`RateLimit\`.

Your limits on unfinished jobs and on daily loads may differ. A job counts towards the day of its acceptance once it has ended, with the
stored size of its files and all of its rows. When the quota is used up, new jobs get 429 \`quota_exceeded\` until midnight UTC
(\`Retry-After\`). An accepted job whose files exceed the remaining bytes, or that finds no rows left, ends with status 3
\`quota_exceeded\`, with nothing loaded or counted; a job that exceeds the row limit while loading is loaded completely. A dry run counts the
unpacked bytes it reads, and ends with status 3 \`quota_exceeded\` at the limit. Deletions do not count.`;
