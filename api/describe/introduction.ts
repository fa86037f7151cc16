/** The introduction of the API reference. Codes and limits come from the code tables and the configuration. */
import { KEPT_DAYS, RETRY_HOURS } from '../../pipeline/stores/deliveries.ts';
import { fileFailureCodes, jobFailureCodes, rejectCodes } from '../../schemas/codes.ts';
import type { Config } from '../../schemas/config.ts';
import { deletionBytes } from '../../schemas/http.ts';
import { problems } from '../../schemas/problems.ts';
import { MAX_TOKEN_SECONDS } from '../auth/user-tokens.ts';

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
headrace loads files of mobile advertising identifiers from object storage into device sets: marketplace attributes and
first-party audiences. Every count is exact.

## First steps

You were given an API key, and a bucket, a path prefix and access keys for the shared import storage.

1. Upload a file under your prefix, such as \`<prefix>/day/devices.csv\`, with any S3 client.
2. Queue an import. The path omits bucket and prefix:
   \`\`\`text
   curl ${config.publicUrl ?? '<base_url>'}/v1/marketplace/import \\
     -H 'Authorization: Bearer <API_KEY>' \\
     -H 'Content-Type: application/json' \\
     -d '{"file_path": "day/devices.csv",
          "key_type": 0}'
   \`\`\`
   The response is \`{"import_log_id": 42}\`.
3. Poll \`/v1/marketplace/import/42\` until \`status\` is 2 (done) or 3 (error, with the reasons in \`errors\`).

An audience works the same way: POST to \`/v2/firstparty/audience\`, then poll its details. If a load fails,
\`…/audience/<id>/loads\` shows why. \`…/audience/<id>/composition\` shows what the audience consists of.

To poll cheaply, send the \`ETag\` of the last response in \`If-None-Match\`: 304 means that nothing has changed. \`…/progress\` of an
import or a load shows how far it has come. To be told of changes instead, open \`/v1/marketplace/import/events\` or
\`/v2/firstparty/audience/events\` (server-sent events), or register a webhook.`;

const authentication = (config: Described) => `
## Authentication

Every call needs your API key: \`Authorization: Bearer <API_KEY>\`. If the key is missing, malformed, unknown or revoked, the
response is 401 \`unauthorized\`; after the end of its lifetime it is 401 \`key_expired\`. Ask for a new key before: the old one goes
on working for a while (a day, unless agreed otherwise), so that you can change over without a gap.

A key has scopes: \`read\` for every GET and for computing a report, \`import\` to queue imports and deletions, \`audience\` to create and
change audiences, \`webhook\` together with \`read\` for everything about webhooks, because they are sent what a GET returns. Without
the scopes of an operation the response is 403 \`insufficient_scope\`. While your access is
suspended, every call gets 403 \`partner_suspended\`; jobs that were accepted before still run.

Audience calls also accept \`x-user-token: <USER_TOKEN>\`, the token of one of your customers. With it, the audiences that you create
belong to that customer, and you can see and change only that customer’s audiences. Without it, you can see and change all of your
audiences. If the token is invalid, expired or for another partner, the response is 401.

A resource that belongs to another partner or customer gives 404, as if it did not exist.

The console at \`/console/\` takes the same API keys and user tokens. To send a customer straight to the report of an audience, link
to it by its \`default_warehouse_segment_id\`. The link signs the customer in, unless another account is signed in in this browser, and
the token is removed from the address at once:

\`\`\`text
${config.publicUrl ?? '<base_url>'}/console/segments/10000042?token=<USER_TOKEN>
\`\`\`

A link works until its token expires, even after the customer has signed out, and for everyone who has it. Proxies that see the link
may have the token in their logs. So let its token live briefly, and make a new link for every visit.`;

const userTokens = (config: Described) => `
## User tokens

You sign the tokens of your customers yourself: JWTs, signed by HS256 with a key that you were given, a \`kid\` and its secret
(\`tksec_…\`, the text as it is). Any JWT library will do. Without one, in Node:

\`\`\`js
import { createHmac } from 'node:crypto';

function signUserToken(kid, secret, partner, customer) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const header = part({ alg: 'HS256', typ: 'JWT', kid });
  const claims = part({ iss: partner, aud: '${config.userTokenAudience}', customer, iat: now, exp: now + 3600 });
  const signature = createHmac('sha256', secret).update(\`\${header}.\${claims}\`).digest('base64url');
  return \`\${header}.\${claims}.\${signature}\`;
}
\`\`\`

In Python:

\`\`\`python
import base64, hashlib, hmac, json, time

def sign_user_token(kid, secret, partner, customer):
    def encode(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    now = int(time.time())
    header = {"alg": "HS256", "typ": "JWT", "kid": kid}
    claims = {"iss": partner, "aud": "${config.userTokenAudience}", "customer": customer, "iat": now, "exp": now + 3600}
    signed = b".".join(encode(json.dumps(part).encode()) for part in (header, claims))
    signature = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    return (signed + b"." + encode(signature)).decode()
\`\`\`

${table(
  ['claim', 'content'],
  ['`iss`', 'your partner id'],
  ['`aud`', `\`${config.userTokenAudience}\``],
  ['`customer`', 'your name for the customer: any text'],
  ['`iat`, `exp`', `when it was made and when it ends, at most ${number(MAX_TOKEN_SECONDS)} seconds later`],
)}

All of them are required. A key signs for your customers alone. Sign on your server, never in a browser: with the secret, anyone can
act for all of your customers. When a key is replaced, the old one works until you ask for it to be retired; then its tokens, and the
sessions that they opened, end within five seconds.`;

const files = (config: Described) => `
## Files

Files are UTF-8 text with one row per line. Columns are separated by comma, tab, semicolon or pipe. A header line is optional
and detected. The first column is the device identifier: 32 hex digits in 8-4-4-4-12 form, in upper or lower case.

- **Marketplace import**: the identifier, then one or more keys, each in a column of its own. \`key_type\` says whether they are
  attribute_ids or partner_foreign_keys. With \`key_type\` 1:
  \`\`\`text
  device_id,keys
  3f2504e0-4f89-41d3-9a0c-0305e82c3301,sports
  6FA459EA-EE8A-3CA4-894E-DB77E160355E,sports,travel
  \`\`\`
- **Audience**: exactly two columns, identifier and event. The event may be empty.
  \`\`\`text
  3f2504e0-4f89-41d3-9a0c-0305e82c3301,purchase
  6fa459ea-ee8a-3ca4-894e-db77e160355e,
  \`\`\`

A file is loaded completely or not at all. It fails when more than ${config.maxInvalidShare * 100} % of its rows are invalid. The other files of the
job are still loaded, and the job ends with status 3. \`…/rejects\` lists the rejected rows, up to ${number(config.rejectsPerFile)} per file (the last
one says how many more there were), for ${number(config.retentionDaysRejects)} days after the end of the job. Imports and deletions are listed for ${number(config.retentionDaysJobs)} days after their end; loads of an
audience at least until it is cleared.`;

const words = `
## What an audience has

- **Generation**: an audience begins with generation 1, and every clear begins the next one. A load belongs to the generation in which it
  was accepted. A clear cancels the loads of earlier generations, and everything that the audience shows is of the present one.
- **Segment**: \`default_warehouse_segment_id\` names the audience in links to the console. It is assigned once and never changes.
- **Composition**: the report on what an audience consists of: its devices by marketplace attribute, by event, and what it has in
  common with your other audiences. It is computed when you ask for it; \`current\` says whether anything has changed since.

## Who sees what

The marketplace is shared. An attribute is \`public\`, unless you make it \`private\`: its name, your name and its share may appear in the
reports of every partner and customer. A private one appears in your own reports, and not in those of your customers
(\`PATCH /v1/marketplace/attribute/<id>\`). \`matched_devices\` counts both. A report leaves out attributes that no device of the audience
has; with \`attributes=own\` it has yours alone.

Where a privacy floor is configured (\`floor\` in the report), numbers below it are hidden, attributes and overlaps with fewer
devices are left out, and of an audience with fewer devices nothing is shown but its size. This suppresses the numbers of small
audiences. It does not protect against comparing the numbers before and after a change.`;

const order = `
## Order and status

Jobs, deletions included, complete in the order in which they were accepted. Only clearing an audience takes effect at once.

| status | meaning |
| --- | --- |
| 0 | pending: waiting for earlier jobs |
| 1 | running |
| 2 | done, without errors |
| 3 | error |`;

const repeat = `
## Retrying a request

Send a unique \`Idempotency-Key\` with POST, PATCH, PUT and DELETE. If you did not get the response, send the same request with
the same key: within 24 hours you get the first response again, and the request is carried out only once. The same key with a
different request gets 409. After 429 and 503, wait for the number of seconds in \`Retry-After\`.`;

const webhooks = (config: Described) => `
## Webhooks

Register a URL under \`/v1/webhooks\`, and every end of an import, a deletion and a load of an audience is posted to it, with the record
that a GET returns. Deliveries follow [Standard Webhooks](https://www.standardwebhooks.com): any library for it verifies them with the
\`whsec_…\` secret. Without one, in Node:

\`\`\`js
import { createHmac, timingSafeEqual } from 'node:crypto';

function isGenuine(headers, body, secret) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (Math.abs(Date.now() / 1000 - timestamp) > 300) return false;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(\`\${id}.\${timestamp}.\${body}\`).digest();
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one.slice('v1,'.length), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
\`\`\`

\`body\` is what was received, byte for byte, before it is parsed. Answer with any 2xx within ${config.webhookTimeoutMs / 1_000} seconds, and do the work afterwards.
Anything else is tried again after 1, 2, 4 … seconds, later every hour, for ${RETRY_HOURS} hours; then the delivery is \`failed\`. An event may come
more than once, always with the same \`webhook-id\`. Each job has one event, and its attempts follow each other; events of different jobs
may overtake each other. Redirects are not followed, and only public addresses are called. A receiver that fails is not disabled,
unless it answers 410. Every delivery is kept for ${KEPT_DAYS} days with its attempts, and can be sent again.`;

const errors = () => `
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

In \`rows_rejected\` under \`…/files\` and in every line of \`…/rejects\`:

${codes(rejectCodes)}`;

const limits = (config: Described) => `
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
    'files loaded on a day (UTC)',
    `${quota(config.maxBytesPerDay, 'bytes')}, ${quota(config.maxRowsPerDay, 'rows')}`,
  ],
  ['import logs in the list', '100, unless `limit` is given'],
  ['webhooks', '10; above that 429 `too_many_webhooks`'],
  ['test events of webhooks', '10 per minute'],
  ['open event streams', `${number(config.limitStreams)}; above that 429 \`too_many_streams\``],
)}

Every authenticated response has the number of requests left in \`RateLimit\`.

The limits on unfinished jobs and on what is loaded on a day may be others for you. A job counts for the day on which it was accepted,
with the size of its files as they are stored and with all of its rows, once it has ended. When the quota is used up, a job is refused with
429 \`quota_exceeded\` until midnight (UTC, in \`Retry-After\`). A job that was accepted and has more bytes than are left when its files are
listed, or finds the rows used up, ends with status 3 \`quota_exceeded\`, and nothing of it is loaded or counted; a job that passes the
limit of rows while it loads is loaded completely. A dry run counts with the bytes that it
reads, unpacked, while it reads them, and ends with status 3 \`quota_exceeded\` where the quota ends. Deletions do not count.`;

export const introduction = (config: Described): string =>
  [
    steps(config),
    authentication(config),
    userTokens(config),
    files(config),
    words,
    order,
    repeat,
    webhooks(config),
    errors(),
    limits(config),
  ]
    .map((part) => part.trim())
    .join('\n\n');
