/** The introduction of the API reference. */
import { type Described, errors, limits, number } from './introduction-limits.ts';
import { userTokens, webhooks } from './introduction-signing.ts';

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

To poll cheaply, send the \`ETag\` of the last response in \`If-None-Match\`: 304 means no change. \`…/progress\` of an import or a
load shows its progress. Instead of polling, open \`/v1/marketplace/import/events\` or \`/v2/firstparty/audience/events\`
(server-sent events), or register a webhook.`;

/** A corrupt file might still run, so the command stops at a wrong checksum. */
const commandLine = ({ publicUrl = '<base_url>' }: Described) => `
## Command line

The service serves its own command line: one file, which needs only Node 20.19 or newer. Install it, and log in:

\`\`\`text
curl -fsS ${publicUrl}/cli -o headrace
curl -fsS ${publicUrl}/cli/sha256 | sha256sum -c
chmod +x headrace
./headrace login --api-url ${publicUrl}
\`\`\`

Move it to a folder on your PATH to call it as \`headrace\`. \`headrace --help\` lists the commands: they upload files, submit and follow jobs,
show reports and rejected rows, and \`headrace webhook listen\` forwards events to a program on your machine.`;

const authentication = (config: Described) => `
## Authentication

Every call needs your API key: \`Authorization: Bearer <API_KEY>\`. If the key is missing, malformed, unknown or revoked, the
response is 401 \`unauthorized\`; after it has expired, 401 \`key_expired\`. Ask for a new key before that: the old one stays valid
during the overlap (one day unless agreed otherwise), so that you can switch without a gap.

A key has scopes: \`read\` for every GET and for computing a report, \`import\` to queue imports and deletions, \`audience\` to create and
change audiences, \`webhook\` together with \`read\` for webhooks, which carry what a GET returns. A key without the scopes of an operation
gets 403 \`insufficient_scope\`. While your access is suspended, every call gets 403 \`partner_suspended\`; accepted jobs still run.

Audience calls also accept \`x-user-token: <USER_TOKEN>\`, the token of one of your customers. With it, audiences that you create belong
to that customer, and you see and change only that customer’s audiences. Without it, you see and change all of your audiences. If the
token is invalid, expired or for another partner, the response is 401.

A resource that belongs to another partner or customer gives 404, as if it did not exist.

The console at \`/console/\` takes the same API keys and user tokens. To send a customer straight to the report of an audience, link
to its \`default_warehouse_segment_id\`. The link signs the customer in, unless the browser already has a session, and a redirect
removes the token from the address:

\`\`\`text
${config.publicUrl ?? '<base_url>'}/console/segments/10000042?token=<USER_TOKEN>
\`\`\`

A link works for everyone who has it until its token expires, even after the customer has signed out, and proxies may log it. Use
short-lived tokens and a new link for every visit.`;

const files = (config: Described) => `
## Files

Files are UTF-8 text with one row per line. Columns are separated by comma, tab, semicolon or pipe. A header line is optional
and detected. Spaces around a column are ignored. Files that end in \`.gz\` are unpacked (for an import of a prefix: if \`compressed\` is
\`auto\`). The first column is the device identifier: 32 hex digits in 8-4-4-4-12 form, in upper or lower case.

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

A file is loaded completely or not at all. It fails when more than ${number(config.maxInvalidShare * 100)}% of its rows are invalid. The other files of the
job are still loaded, and the job ends with status 3. \`…/rejects\` lists the rejected rows, up to ${number(config.rejectsPerFile)} per file (the last
one says how many more there were), for ${number(config.retentionDaysRejects)} days after the end of the job. Imports and deletions are listed for
${number(config.retentionDaysJobs)} days after their end; loads of an audience at least until it is cleared.`;

const words = `
## Audience terms

- **Generation**: starts at 1; every clear starts the next one and cancels the loads of earlier ones. The audience shows only the
  current generation.
- **Matched**: \`matched_devices\` have a marketplace attribute as of \`matched_at\`. A load matches the devices that it adds; a report
  recounts all devices, and the audience then shows the same number (\`matched_by\`).
- **Cleared**: \`cleared_at\` is the time of the last clear; loads from before it have \`cleared: true\`.
- **Segment**: \`default_warehouse_segment_id\` names the audience in links to the console. It is assigned once and never changes.
- **Composition**: the report on its devices by marketplace attribute, by event, and by overlap with your other audiences. It is computed
  on request; \`current\` is false if something has changed since.

## Who sees what

The marketplace is shared. An attribute is \`public\`, unless you make it \`private\`: its name, your name and its share may appear in the
reports of every partner and customer. A private attribute appears in your own reports, but not in those of your customers
(\`PATCH /v1/marketplace/attribute/<id>\`). \`matched_devices\` counts both. A report leaves out attributes that no device of the audience
has; \`attributes=own\` limits it to yours.

With a privacy floor (\`floor\` in the report), smaller numbers are hidden, attributes and overlaps with fewer devices are left out, and
a smaller audience shows only its size. The floor does not protect against comparing reports before and after a change.`;

const order = `
## Order and status

Your jobs, deletions included, complete in the order in which they were accepted. Only clearing an audience takes effect immediately.

| status | meaning |
| --- | --- |
| 0 | pending: waiting for earlier jobs |
| 1 | running |
| 2 | done, without errors |
| 3 | error |`;

const repeat = `
## Retrying a request

Send a unique \`Idempotency-Key\` with POST, PATCH, PUT and DELETE. If you did not get the response, send the same request with
the same key: within 24 hours you get the first response again, and the request takes effect only once. The same key with a different
request gets 409. After 429 and 503, wait for the number of seconds in \`Retry-After\`.`;

export const introduction = (config: Described): string =>
  [
    steps(config),
    commandLine(config),
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
