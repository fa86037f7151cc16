/** Webhooks and their deliveries as readable lines. */

import type { Delivery, DeliveryDetails, Webhook } from '../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../pipeline/runtime/terminal.ts';
import { heading, when } from '../show.ts';

const stateOf = ({ active, gone }: Webhook, { green, red, dim }: Paint) =>
  active ? green('active') : gone ? red('gone') : dim('disabled');

const statusOf = ({ status }: Delivery, { green, red, cyan }: Paint) =>
  ({ pending: cyan, delivered: green, failed: red })[status](status);

const lastOf = ({ attempts }: Delivery): string => {
  const last = attempts.at(-1);
  if (!last) return '';
  return printable(`${last.error ?? `answered ${last.code}`} (${last.duration_ms} ms)`);
};

export const webhookLines = (webhooks: readonly Webhook[], colours: Paint): string[] =>
  table(
    [
      heading(['ID', 'STATE', 'CREATED', 'URL', 'DESCRIPTION'], colours),
      ...webhooks.map((webhook) => [
        String(webhook.webhook_id),
        stateOf(webhook, colours),
        when(webhook.created_at),
        printable(webhook.url),
        printable(webhook.description ?? ''),
      ]),
    ],
    [0],
  );

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

export const deliveryLines = (deliveries: readonly Delivery[], colours: Paint): string[] =>
  table(
    [
      heading(['ID', 'STATUS', 'TYPE', 'JOB', 'TRIES', 'CREATED', 'LAST ATTEMPT'], colours),
      ...deliveries.map((delivery) => [
        String(delivery.delivery_id),
        statusOf(delivery, colours),
        delivery.type,
        delivery.job_id === null ? '' : String(delivery.job_id),
        String(delivery.tries),
        when(delivery.created_at),
        lastOf(delivery),
      ]),
    ],
    [0, 3, 4],
  );

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
