/** `headrace admin webhook …`: webhooks of any partner. Partners register them themselves. */
import type { Command } from 'commander';
import { createManageWebhooks } from '../../../../api/resources/webhooks/manage-webhooks.ts';
import { toWebhook } from '../../../../api/resources/webhooks/webhook-records.ts';
import { ProvisioningError } from '../../../../pipeline/stores/partners.ts';
import type { WebhookDocument } from '../../../../schemas/webhook-documents.ts';
import type { Environments } from '../../commands.ts';
import { wholeNumber } from '../../parse-options.ts';
import { type Columns, when } from '../../show.ts';
import { adminCommands } from '../runner.ts';
import { list } from '../views.ts';

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

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const webhook = admin.command('webhook').description('list and remove webhooks of partners');

  add(webhook, 'list', 'list webhooks, without their secrets')
    .option('--partner <id>', 'only webhooks of this partner')
    .reads(async ({ webhooks }, options: { partner?: string }) => {
      const all = await webhooks.list(options.partner);
      return { json: all.map(record), text: list(all, columns, 'no webhooks') };
    });
  add(webhook, 'remove', 'remove a webhook and its delivery log')
    .requiredOption('--partner <id>', 'the partner')
    .requiredOption('--webhook <id>', 'the webhook', wholeNumber)
    .confirms(({ webhook }) => `Remove webhook ${webhook} and its delivery log?`)
    .changes(async (context, { partner, webhook: id }: { partner: string; webhook: number }) => {
      if (!(await createManageWebhooks(context).remove(partner, id)))
        throw new ProvisioningError('unknown_webhook', `partner ${partner} has no webhook ${id}`);
      return { json: { webhook_id: id, removed: true }, text: [`webhook ${id} is removed`] };
    });
}
