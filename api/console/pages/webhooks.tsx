import { webhookPath } from '../../client/client.ts';
import type { Webhook } from '../../client/types.ts';
import { read } from '../api-client.ts';
import { Age, EmptyState, QueryState, WebhookState } from '../components/basics.tsx';
import { type ListColumn, ListTable } from '../components/list-table.tsx';
import { commandLine } from '../components/shell.tsx';
import { useTitle } from '../hooks.ts';
import { useQuery } from '../query.ts';

const POLL_MS = 10_000;

const columns: ListColumn<Webhook>[] = [
  {
    label: 'Webhook',
    isName: true,
    cell: ({ webhook_id, url, description }) => (
      <>
        <a class="path" href={`/console/webhooks/${webhook_id}`}>
          {url}
        </a>
        {description && <span class="quiet"> {description}</span>}
      </>
    ),
  },
  { label: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
  { label: 'Registered', cell: ({ created_at }) => <Age time={created_at} /> },
];

export function WebhooksPage() {
  useTitle('Webhooks');
  const list = useQuery(webhookPath, async (signal) => (await read<Webhook[]>(webhookPath, signal)).data, {
    again: () => POLL_MS,
  });
  return (
    <>
      <h1>Webhooks</h1>
      <QueryState query={list} rows={3} />
      {list.data && list.data.length > 0 && (
        <ListTable
          caption="Webhooks, oldest first"
          columns={columns}
          rows={list.data}
          rowKey={({ webhook_id }) => webhook_id}
        />
      )}
      {list.data?.length === 0 && (
        <EmptyState title="No webhooks are registered">
          <p>
            A webhook gets a signed request when a job ends. Register one with the{' '}
            <a href={commandLine}>command line</a>: <code>headrace webhook add URL</code>
          </p>
        </EmptyState>
      )}
    </>
  );
}
