/** `headrace webhook …`: notifications at a partner's URL when jobs finish. */
import { type Command, Option } from 'commander';
import { listRecords, webhookPath } from '../../../../api/client/client.ts';
import type { CreatedWebhook, Delivery, DeliveryDetails, Webhook } from '../../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../../pipeline/runtime/terminal.ts';
import { between, wholeNumber } from '../../parse-options.ts';
import { type Columns, listLines, when } from '../../show.ts';
import { registerListen } from '../forward-events.ts';
import type { CommandContext } from '../run-command.ts';
import { addCommand, addGroup } from '../subcommands.ts';

const DEFAULT_LIMIT = 30;
const id = ['<id>', 'webhook_id', wholeNumber] as const;
const deliveryId = ['<delivery>', 'delivery_id', wholeNumber] as const;
const pathOf = (webhook: number) => `${webhookPath}/${webhook}`;

interface AddOptions {
  description?: string;
}
interface ListOptions {
  limit: number;
  status?: string;
}

const printSecret = ({ print, colours }: CommandContext, made: CreatedWebhook) =>
  print(made, () => webhookDetails(made, colours, made.secret));

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
const webhookLines = (webhooks: readonly Webhook[], colours: Paint): string[] =>
  listLines(webhooks, webhookColumns(colours), colours);

/** `secret`: only after creation or rotation. */
const webhookDetails = (webhook: Webhook, colours: Paint, secret?: string): string[] =>
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
const deliveryLines = (deliveries: readonly Delivery[], colours: Paint): string[] =>
  listLines(deliveries, deliveryColumns(colours), colours);

const deliveryDetailLines = (delivery: DeliveryDetails, colours: Paint): string[] => [
  ...deliveryLines([delivery], colours),
  '',
  ...delivery.attempts.map(({ at, code, error, duration_ms }) =>
    printable(`${when(at)}  ${error ?? `answered ${code}`} (${duration_ms} ms)`),
  ),
  ...(delivery.next_attempt_at === null ? [] : [`${when(delivery.next_attempt_at)}  next attempt`]),
  '',
  printable(delivery.body),
];

export function register(program: Command): void {
  const group = addGroup(program, 'webhook', 'get notified at your URL when jobs finish');

  addCommand(group, 'add', 'register a URL and print its secret')
    .argument('<url>', 'an https URL with a public address')
    .option('--description <text>', 'a note')
    .runs(async (context, url: string, options: AddOptions) => {
      const request = { url, description: options.description ?? null };
      const { data } = await context.api.change<CreatedWebhook>('POST', webhookPath, request);
      await printSecret(context, data);
    });

  addCommand(group, 'list', 'list webhooks').runs(async ({ api, print, colours }) => {
    const { data } = await api.get<Webhook[]>(webhookPath);
    await print(data, () => webhookLines(data, colours));
  });

  addCommand(group, 'show', 'show a webhook')
    .argument(...id)
    .runs(async ({ api, print, colours }, webhook: number) => {
      const { data } = await api.get<Webhook>(pathOf(webhook));
      await print(data, () => webhookDetails(data, colours));
    });

  for (const [name, description, active] of [
    ['enable', 'resume sending events, for jobs that finish from now on', true],
    ['disable', 'stop sending events', false],
  ] as const)
    addCommand(group, name, description)
      .argument(...id)
      .runs(async ({ api, print }, webhook: number) => {
        await api.change('PATCH', pathOf(webhook), { active });
        await print({ webhook_id: webhook, active }, () => [`webhook ${webhook} is ${name}d`]);
      });

  addCommand(group, 'rotate', 'replace the secret; the old one stays valid for a day')
    .argument(...id)
    .runs(async (context, webhook: number) => {
      const { data } = await context.api.change<CreatedWebhook>('POST', `${pathOf(webhook)}/secret`);
      await printSecret(context, data);
    });

  addCommand(group, 'remove', 'remove a webhook and its delivery log')
    .argument(...id)
    .confirms((webhook) => `Remove webhook ${webhook} and its delivery log?`)
    .runs(async ({ api, print }, webhook: number) => {
      await api.change('DELETE', pathOf(webhook));
      await print({ webhook_id: webhook, removed: true }, () => [`webhook ${webhook} is removed`]);
    });

  registerDeliveryCommands(group);
  registerListen(group);
}

function registerDeliveryCommands(group: Command): void {
  const tellSent = async ({ api, print }: CommandContext, path: string) => {
    const { data } = await api.change<{ delivery_id: number }>('POST', path);
    await print(data, () => [`sending delivery ${data.delivery_id}`]);
  };

  addCommand(group, 'test', 'send a test event')
    .argument(...id)
    .runs((context, webhook: number) => tellSent(context, `${pathOf(webhook)}/test`));

  addCommand(group, 'deliveries', 'list deliveries with their responses, newest first')
    .argument(...id)
    .option('--limit <n>', 'maximum number to list', between(1, 1_000_000), DEFAULT_LIMIT)
    .addOption(
      new Option('--status <status>', 'only with this status').choices(['pending', 'delivered', 'failed']),
    )
    .runs(async ({ api, print, colours }, webhook: number, options: ListOptions) => {
      const found = await listRecords<Delivery>(api, `${pathOf(webhook)}/deliveries`, options);
      await print(found, () => deliveryLines(found, colours));
    });

  addCommand(group, 'delivery', 'show a delivery with its attempts and body')
    .argument(...id)
    .argument(...deliveryId)
    .runs(async ({ api, print, colours }, webhook: number, delivery: number) => {
      const { data } = await api.get<DeliveryDetails>(`${pathOf(webhook)}/deliveries/${delivery}`);
      await print(data, () => deliveryDetailLines(data, colours));
    });

  addCommand(group, 'redeliver', 'send a delivery again')
    .argument(...id)
    .argument(...deliveryId)
    .runs((context, webhook: number, delivery: number) =>
      tellSent(context, `${pathOf(webhook)}/deliveries/${delivery}/redeliver`),
    );
}
