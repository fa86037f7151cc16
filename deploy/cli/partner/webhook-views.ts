/** Webhooks and their deliveries as readable lines. */

import type { Delivery, DeliveryDetails, Webhook } from '../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { type Columns, listLines, when } from '../show.ts';

const stateOf = ({ active, gone }: Webhook, { green, red, dim }: Paint) =>
  active ? green('active') : gone ? red('gone') : dim('disabled');

const statusOf = ({ status }: Delivery, { green, red, cyan }: Paint) =>
  ({ pending: cyan, delivered: green, failed: red })[status](status);

const lastOf = ({ attempts }: Delivery): string => {
  const last = attempts.at(-1);
  if (!last) return '';
  return printable(`${last.error ?? `answered ${last.code}`} (${last.duration_ms} ms)`);
};

const webhookColumns = (colours: Paint): Columns<Webhook> => ({
  ID: ({ webhook_id }) => String(webhook_id),
  STATE: (webhook) => stateOf(webhook, colours),
  CREATED: ({ created_at }) => when(created_at),
  URL: ({ url }) => printable(url),
  DESCRIPTION: ({ description }) => printable(description ?? ''),
});
export const webhookLines = (webhooks: readonly Webhook[], colours: Paint): string[] =>
  listLines(webhooks, webhookColumns(colours), colours);

/** `secret`: only after creation or rotation. */
export const webhookDetails = (webhook: Webhook, colours: Paint, secret?: string): string[] =>
  table([
    ['webhook', String(webhook.webhook_id)],
    ['state', stateOf(webhook, colours)],
    ['url', printable(webhook.url)],
    ...(webhook.description === null ? [] : [['description', printable(webhook.description)]]),
    ...webhook.secrets.map(({ created_at, expires_at }) => [
      'signs with',
      `secret from ${when(created_at)}${expires_at === null ? '' : `, until ${when(expires_at)}`}`,
    ]),
    ['created', when(webhook.created_at)],
    ...(secret === undefined ? [] : [['secret', `${secret}   (shown only now)`]]),
  ]);

const deliveryColumns = (colours: Paint): Columns<Delivery> => ({
  ID: ({ delivery_id }) => String(delivery_id),
  STATUS: (delivery) => statusOf(delivery, colours),
  TYPE: ({ type }) => type,
  JOB: ({ job_id }) => String(job_id ?? ''),
  TRIES: ({ tries }) => tries,
  CREATED: ({ created_at }) => when(created_at),
  'LAST ATTEMPT': lastOf,
});
export const deliveryLines = (deliveries: readonly Delivery[], colours: Paint): string[] =>
  listLines(deliveries, deliveryColumns(colours), colours);

export const deliveryDetailLines = (delivery: DeliveryDetails, colours: Paint): string[] => [
  ...deliveryLines([delivery], colours),
  '',
  ...delivery.attempts.map(({ at, code, error, duration_ms }) =>
    printable(`${when(at)}  ${error ?? `answered ${code}`} (${duration_ms} ms)`),
  ),
  ...(delivery.next_attempt_at === null ? [] : [`${when(delivery.next_attempt_at)}  next attempt`]),
  '',
  printable(delivery.body),
];
