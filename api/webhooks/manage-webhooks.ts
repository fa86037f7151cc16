/** Registers, changes and removes webhooks: what the API and the admin commands share. */
import { newWebhookSecret, sealWebhookSecret, type WebhookChange } from '../../pipeline/stores/webhooks.ts';
import type { Config } from '../../schemas/config.ts';
import type { WebhookDocument } from '../../schemas/webhook-documents.ts';
import type { ApiStores } from '../stores.ts';
import { webhookUrlProblem } from './public-addresses.ts';
import { keepingOf } from './record-events.ts';
import { renderTest } from './render-event.ts';

export type ManageDependencies = Pick<ApiStores, 'counters' | 'deliveries' | 'jobs' | 'webhooks'> & {
  config: Pick<Config, 'secret' | 'webhookAllowPrivate' | 'webhookRetryHours' | 'retentionDaysDeliveries'>;
};
export type Refusal = 'bad_url' | 'webhook_exists' | 'too_many_webhooks';

export class WebhookRefused extends Error {
  constructor(
    readonly code: Refusal,
    message: string,
  ) {
    super(message);
  }
}

/** A webhook, and its secret: it cannot be read again. */
export interface WithSecret {
  webhook: WebhookDocument;
  secret: string;
}

export const MAX_WEBHOOKS = 10;
/** After a rotation, the old secret signs for so long beside the new one. */
export const OVERLAP_HOURS = 24;
const HOUR_MS = 3_600_000;

export type ManageWebhooks = ReturnType<typeof createManageWebhooks>;

export function createManageWebhooks({ counters, deliveries, jobs, webhooks, config }: ManageDependencies) {
  function checkUrl(url: string): void {
    const problem = webhookUrlProblem(url, config.webhookAllowPrivate);
    if (problem) throw new WebhookRefused('bad_url', problem);
  }
  const taken = () => new WebhookRefused('webhook_exists', 'There is a webhook with this URL already.');

  async function register(
    partner: string,
    { url, description }: Pick<WebhookDocument, 'url' | 'description'>,
    requestToken?: string,
  ): Promise<WithSecret | 'taken'> {
    checkUrl(url);
    if ((await webhooks.count(partner)) >= MAX_WEBHOOKS)
      // Its repetition must find what the request has created.
      return (await webhooks.findByUrl(partner, url)) ? 'taken' : tooMany();
    const [since, id] = await Promise.all([jobs.firstUnfinished(), counters.take('webhooks')]);
    const secret = newWebhookSecret();
    const now = new Date();
    const webhook: WebhookDocument = {
      _id: id,
      partner,
      url,
      description,
      isActive: true,
      since,
      secrets: [sealWebhookSecret(config.secret, { _id: id, partner }, secret)],
      ...(requestToken === undefined ? {} : { requestToken }),
      createdAt: now,
      updatedAt: now,
    };
    if ((await webhooks.insert(webhook)) === 'taken') return 'taken';
    await counters.webhooksChanged();
    return { webhook, secret };
  }

  function tooMany(): never {
    throw new WebhookRefused('too_many_webhooks', `At most ${MAX_WEBHOOKS} webhooks may be registered.`);
  }

  return {
    register,

    /** Null if there is none. One that is enabled is told of the jobs that end from then on. */
    async change(partner: string, id: number, change: WebhookChange): Promise<WebhookDocument | null> {
      if (change.url !== undefined) checkUrl(change.url);
      const known = await webhooks.find(partner, id);
      if (!known) return null;
      const isEnabled = change.isActive === true && !known.isActive;
      const since = isEnabled ? { since: await jobs.firstUnfinished() } : {};
      const changed = await webhooks.change(partner, id, { ...change, ...since });
      if (changed === 'taken') throw taken();
      if (isEnabled) await counters.webhooksChanged();
      return changed;
    },

    async rotate(partner: string, id: number): Promise<WithSecret | null> {
      const secret = newWebhookSecret();
      const owner = { _id: id, partner };
      const sealed = sealWebhookSecret(config.secret, owner, secret);
      const webhook = await webhooks.rotate(owner, sealed, OVERLAP_HOURS * HOUR_MS);
      return webhook && { webhook, secret };
    },

    /** With the log of its deliveries, which nobody sees any more: it may be long, and what stays of it expires. */
    async remove(partner: string, id: number): Promise<boolean> {
      const isRemoved = await webhooks.remove(partner, id);
      if (isRemoved) deliveries.removeOf(id).catch(() => {});
      return isRemoved;
    },

    /** The id of the delivery. */
    async test(webhook: WebhookDocument): Promise<number> {
      const [_id, now] = await Promise.all([counters.take('deliveries'), deliveries.now()]);
      const event = { _id, webhook: webhook._id, job: null, ...renderTest(webhook._id, now) };
      await deliveries.insert([event], keepingOf(config));
      return _id;
    },

    sendAgain: (webhook: WebhookDocument, id: number) =>
      deliveries.sendAgain(webhook._id, id, keepingOf(config)),
  };
}
