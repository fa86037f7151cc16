import type { Delivery, Webhook } from '../../client/types.ts';

export function WebhookState({ webhook: { active, gone } }: { webhook: Webhook }) {
  if (active) return <span class="status status-done">Active</span>;
  return <span class="status status-failed">{gone ? 'Disabled: receiver answered 410' : 'Disabled'}</span>;
}

const classes = { pending: 'running', delivered: 'done', failed: 'failed' };
const words = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed' };

export function DeliveryState({ status }: Pick<Delivery, 'status'>) {
  return <span class={`status status-${classes[status]}`}>{words[status]}</span>;
}
