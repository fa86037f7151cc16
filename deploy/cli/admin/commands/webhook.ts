/** `headrace admin webhook …`: webhooks of any partner. */
import { type Command, InvalidArgumentError } from 'commander';
import { Problem } from '../../../../api/http/problem.ts';
import { createManageWebhooks, type WithSecret } from '../../../../api/resources/webhooks/manage-webhooks.ts';
import { toWebhook } from '../../../../api/resources/webhooks/webhook-records.ts';
import type { ApiStores } from '../../../../api/stores/api-stores.ts';
import { ProvisioningError } from '../../../../pipeline/stores/partners.ts';
import type { ConfigOf } from '../../../../schemas/config.ts';
import { webhookUrl } from '../../../../schemas/http-webhooks.ts';
import type { WebhookDocument } from '../../../../schemas/webhook-documents.ts';
import type { Environments } from '../../commands.ts';
import { yesOption } from '../../confirm.ts';
import { wholeNumber } from '../../parse-options.ts';
import { when } from '../../show.ts';
import { adminTools, type Outcome } from '../runner.ts';
import { table } from '../views.ts';

const url = (text: string) => {
  const parsed = webhookUrl.safeParse(text);
  if (!parsed.success) throw new InvalidArgumentError('expected an https URL of at most 2048 characters');
  return parsed.data;
};

const record = (webhook: WebhookDocument) => ({ partner_id: webhook.partner, ...toWebhook(webhook) });
const stateOf = ({ isActive, isGone }: WebhookDocument) =>
  isActive ? 'active' : isGone ? 'gone' : 'disabled';
const lines = (webhooks: WebhookDocument[]) =>
  table(
    ['WEBHOOK', 'PARTNER', 'STATE', 'CREATED', 'URL'],
    webhooks.map((webhook) => [
      String(webhook._id),
      webhook.partner,
      stateOf(webhook),
      when(webhook.createdAt),
      webhook.url,
    ]),
    'no webhooks',
  );
const shownOnce = ({ webhook, secret }: WithSecret): Outcome => ({
  json: { ...record(webhook), secret },
  text: [`webhook  ${webhook._id}   ${webhook.url}`, `secret   ${secret}   (shown only now)`],
});

const unknown = (partner: string, id: number) =>
  new ProvisioningError('unknown_webhook', `partner ${partner} has no webhook ${id}`);

async function registerWebhook(
  stores: ApiStores,
  config: ConfigOf<'admin'>,
  partner: string,
  address: string,
) {
  await stores.partners.find(partner);
  const wanted = { url: address, description: null };
  return createManageWebhooks({ ...stores, config })
    .register(partner, wanted)
    .catch((error) => {
      throw error instanceof Problem ? new ProvisioningError('webhook_refused', error.detail) : error;
    });
}

export function register(admin: Command, environments: Environments): void {
  const { run, add } = adminTools(environments);
  const webhook = admin.command('webhook').description('register, list and remove webhooks of partners');
  const one = (name: string, description: string) =>
    add(webhook, name, description)
      .requiredOption('--partner <id>', 'the partner')
      .requiredOption('--webhook <id>', 'the webhook', wholeNumber);

  add(webhook, 'add', 'register a webhook for a partner and print its secret')
    .requiredOption('--partner <id>', 'the partner')
    .requiredOption('--url <url>', 'where events are posted to', url)
    .action((options: { partner: string; url: string }, command: Command) =>
      run(command, async (stores, config) =>
        shownOnce(await registerWebhook(stores, config, options.partner, options.url)),
      ),
    );
  add(webhook, 'list', 'list webhooks, without their secrets')
    .option('--partner <id>', 'only webhooks of this partner')
    .action((options: { partner?: string }, command: Command) =>
      run.readOnly(command, async ({ webhooks }) => {
        const all = await webhooks.list(options.partner);
        return { json: all.map(record), text: lines(all) };
      }),
    );
  one('rotate', 'replace the secret; the old secret keeps signing for a day').action(
    (options: { partner: string; webhook: number }, command: Command) =>
      run(command, async (stores, config) => {
        const { partner, webhook: id } = options;
        const rotated = await createManageWebhooks({ ...stores, config }).rotate(partner, id);
        if (!rotated) throw unknown(partner, id);
        return shownOnce(rotated);
      }),
  );
  one('remove', 'remove a webhook and its delivery log')
    .option(...yesOption)
    .action((options: { partner: string; webhook: number }, command: Command) => {
      const { partner, webhook: id } = options;
      const question = `Remove webhook ${id} and its delivery log?`;
      return run.confirmed(command, question, async (stores, config) => {
        if (!(await createManageWebhooks({ ...stores, config }).remove(partner, id)))
          throw unknown(partner, id);
        return { json: { webhook_id: id, removed: true }, text: [`webhook ${id} is removed`] };
      });
    });
}
