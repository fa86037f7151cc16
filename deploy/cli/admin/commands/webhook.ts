/** `headrace admin webhook …`: webhooks of any partner. */
import { type Command, InvalidArgumentError } from 'commander';
import {
  createManageWebhooks,
  WebhookRefused,
  type WithSecret,
} from '../../../../api/resources/webhooks/manage-webhooks.ts';
import { toWebhook } from '../../../../api/resources/webhooks/webhook-records.ts';
import { ProvisioningError } from '../../../../pipeline/stores/partners.ts';
import { webhookUrl } from '../../../../schemas/http-webhooks.ts';
import type { WebhookDocument } from '../../../../schemas/webhook-documents.ts';
import type { Environments } from '../../commands.ts';
import { wholeNumber } from '../../parse-options.ts';
import { type Columns, when } from '../../show.ts';
import { type AdminContext, adminCommands, type Outcome } from '../runner.ts';
import { list } from '../views.ts';

const url = (text: string) => {
  const parsed = webhookUrl.safeParse(text);
  if (!parsed.success) throw new InvalidArgumentError('expected an https URL of at most 2048 characters');
  return parsed.data;
};

const record = (webhook: WebhookDocument) => ({ partner_id: webhook.partner, ...toWebhook(webhook) });
const stateOf = ({ isActive, isGone }: WebhookDocument) =>
  isActive ? 'active' : isGone ? 'gone' : 'disabled';
const columns: Columns<WebhookDocument> = {
  WEBHOOK: ({ _id }) => String(_id),
  PARTNER: ({ partner }) => partner,
  STATE: stateOf,
  CREATED: ({ createdAt }) => when(createdAt),
  URL: ({ url }) => url,
};

const shownOnce = ({ webhook, secret }: WithSecret): Outcome => ({
  json: { ...record(webhook), secret },
  text: [`webhook  ${webhook._id}   ${webhook.url}`, `secret   ${secret}   (shown only now)`],
});

const unknown = (partner: string, id: number) =>
  new ProvisioningError('unknown_webhook', `partner ${partner} has no webhook ${id}`);

async function registerWebhook(context: AdminContext, partner: string, address: string) {
  await context.partners.find(partner);
  const wanted = { url: address, description: null };
  return createManageWebhooks(context)
    .register(partner, wanted)
    .catch((error) => {
      if (!(error instanceof WebhookRefused)) throw error;
      const message = error.code === 'bad_url' ? `the URL ${error.message}` : error.message;
      throw new ProvisioningError('webhook_refused', message);
    });
}

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const webhook = admin.command('webhook').description('register, list and remove webhooks of partners');

  add(webhook, 'add', 'register a webhook for a partner and print its secret')
    .requiredOption('--partner <id>', 'the partner')
    .requiredOption('--url <url>', 'where events are posted to', url)
    .changes(async (context, options: { partner: string; url: string }) =>
      shownOnce(await registerWebhook(context, options.partner, options.url)),
    );
  add(webhook, 'list', 'list webhooks, without their secrets')
    .option('--partner <id>', 'only webhooks of this partner')
    .reads(async ({ webhooks }, options: { partner?: string }) => {
      const all = await webhooks.list(options.partner);
      return { json: all.map(record), text: list(all, columns, 'no webhooks') };
    });
  add(webhook, 'rotate', 'replace the secret; the old secret keeps signing for a day')
    .requiredOption('--partner <id>', 'the partner')
    .requiredOption('--webhook <id>', 'the webhook', wholeNumber)
    .changes(async (context, { partner, webhook: id }: { partner: string; webhook: number }) => {
      const rotated = await createManageWebhooks(context).rotate(partner, id);
      if (!rotated) throw unknown(partner, id);
      return shownOnce(rotated);
    });
  add(webhook, 'remove', 'remove a webhook and its delivery log')
    .requiredOption('--partner <id>', 'the partner')
    .requiredOption('--webhook <id>', 'the webhook', wholeNumber)
    .confirms(({ webhook }) => `Remove webhook ${webhook} and its delivery log?`)
    .changes(async (context, { partner, webhook: id }: { partner: string; webhook: number }) => {
      if (!(await createManageWebhooks(context).remove(partner, id))) throw unknown(partner, id);
      return { json: { webhook_id: id, removed: true }, text: [`webhook ${id} is removed`] };
    });
}
