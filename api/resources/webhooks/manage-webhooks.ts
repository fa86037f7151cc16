/** Registers, changes and removes webhooks, for the API and the admin commands. */

import type { Config } from '../../../schemas/config.ts';
import type { WebhookDocument } from '../../../schemas/webhook-documents.ts';
import { Problem } from '../../http/problem.ts';
import type { ApiStores } from '../../stores/api-stores.ts';
import { newWebhookSecret, sealWebhookSecret, type WebhookChange } from '../../stores/webhooks.ts';
import { webhookUrlProblem } from './public-addresses.ts';
import { renderTest } from './render-event.ts';

type ManageDependencies = Pick<ApiStores, 'counters' | 'deliveries' | 'webhooks'> & {
  config: Pick<Config, 'secret' | 'webhookAllowPrivate'>;
};
/** A webhook with its secret, which is returned only once. */
export interface WithSecret {
  webhook: WebhookDocument;
  secret: string;
}

interface Drawn {
  id: number;
  secret: string;
}

const MAX_WEBHOOKS = 10;
/** After a rotation, both secrets sign for this long. */
const OVERLAP_HOURS = 24;
const HOUR_MS = 3_600_000;

export function createManageWebhooks({ counters, deliveries, webhooks, config }: ManageDependencies) {
  function checkUrl(url: string): void {
    const problem = webhookUrlProblem(url, config.webhookAllowPrivate);
    if (problem)
      throw new Problem('invalid_body', `url ${problem}.`, { errors: [{ path: 'url', message: problem }] });
  }
  const taken = () => new Problem('webhook_exists', 'A webhook with this URL already exists.');

  /** Id and secret, the same for every attempt of a request. */
  const draw = async (): Promise<Drawn> => ({
    id: await counters.take('webhooks'),
    secret: newWebhookSecret(),
  });

  async function register(
    partner: string,
    { url, description }: Pick<WebhookDocument, 'url' | 'description'>,
    drawn?: Drawn,
  ): Promise<WithSecret> {
    checkUrl(url);
    const { id, secret } = drawn ?? (await draw());
    const since = (await counters.countEnds()) + 1;
    const now = new Date();
    const wanted = {
      _id: id,
      partner,
      url,
      description,
      isActive: true,
      since,
      secrets: [sealWebhookSecret(config.secret, { _id: id, partner }, secret)],
      createdAt: now,
      updatedAt: now,
    };
    const inserted = await webhooks.insert(wanted, MAX_WEBHOOKS);
    if (inserted === 'full') return registered(partner, id, secret, tooMany);
    if (inserted === 'taken') return registered(partner, id, secret, taken);
    await counters.webhooksChanged();
    return { webhook: inserted, secret };
  }

  /** The webhook that an earlier attempt registered. */
  async function registered(
    partner: string,
    id: number,
    secret: string,
    refuse: () => Problem,
  ): Promise<WithSecret> {
    const webhook = await webhooks.find(partner, id);
    if (!webhook) throw refuse();
    await counters.webhooksChanged();
    return { webhook, secret };
  }

  const tooMany = () =>
    new Problem('too_many_webhooks', `At most ${MAX_WEBHOOKS} webhooks may be registered.`, {
      headers: { 'Retry-After': '60' },
    });

  return {
    draw,
    register,

    /** Null if it does not exist. A re-enabled webhook receives events for jobs that end from then on. */
    async change(partner: string, id: number, change: WebhookChange): Promise<WebhookDocument | null> {
      if (change.url !== undefined) checkUrl(change.url);
      const known = await webhooks.find(partner, id);
      if (!known) return null;
      const isEnabled = change.isActive === true && !known.isActive;
      const since = isEnabled ? { since: (await counters.countEnds()) + 1 } : {};
      const changed = await webhooks.change(partner, id, { ...change, ...since });
      if (changed === 'taken') throw taken();
      if (isEnabled) await counters.webhooksChanged();
      return changed;
    },

    /** Sets a new secret, or the given one unless the webhook has it already. */
    async rotate(partner: string, id: number, secret = newWebhookSecret()): Promise<WithSecret | null> {
      const owner = { _id: id, partner };
      const sealed = sealWebhookSecret(config.secret, owner, secret);
      const webhook = await webhooks.rotate(owner, sealed, OVERLAP_HOURS * HOUR_MS);
      return webhook && { webhook, secret };
    },

    /** Also removes its deliveries, in the background, because there may be many. If that is interrupted, the rest expires. */
    async remove(partner: string, id: number): Promise<boolean> {
      const isRemoved = await webhooks.remove(partner, id);
      if (isRemoved) deliveries.removeOf(id).catch(() => {});
      return isRemoved;
    },

    drawDelivery: () => counters.take('deliveries'),

    /** Sends a test event with this delivery id, unless it exists already. */
    async test(webhook: number, id: number): Promise<void> {
      const event = { _id: id, webhook, job: null, ...renderTest(webhook, await deliveries.now()) };
      await deliveries.insert([event]);
    },

    /** Once per request. */
    sendAgain: (webhook: number, id: number, request: string) => deliveries.sendAgain(webhook, id, request),
  };
}
