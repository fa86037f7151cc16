/** Shared by the operations of webhooks and of their deliveries. */
import type { WebhookDocument } from '../../../schemas/webhook-documents.ts';
import { answer } from '../../http/change.ts';
import type { Context } from '../../http/context.ts';
import { notFound, Problem } from '../../http/problem.ts';
import { parseId } from '../../http/validate.ts';
import type { Dependencies } from '../shared.ts';

export const webhookPath = '/v1/webhooks';
export const oneWebhook = `${webhookPath}/:webhook_id`;
export const webhookOperation = { tag: 'Webhooks', access: 'partner', scopes: ['read', 'webhook'] } as const;

export function createWebhookAccess({ webhooks }: Pick<Dependencies, 'webhooks'>) {
  async function webhookOf(ctx: Context): Promise<WebhookDocument> {
    const found = await webhooks.find(ctx.state.scope.partner, parseId(ctx.params.webhook_id));
    if (!found) throw notFound();
    return found;
  }
  return {
    webhookOf,
    /** For operations that send a request to it. */
    async requireActive(ctx: Context): Promise<void> {
      if (!(await webhookOf(ctx)).isActive)
        throw new Problem('webhook_disabled', 'The webhook is disabled. Enable it first.');
    },
    toBeSent: (id: number, delivery: number) =>
      answer(202, { delivery_id: delivery }, `${webhookPath}/${id}/deliveries/${delivery}`),
  };
}
