import { useState } from 'preact/hooks';
import { webhookPath } from '../../client/client.ts';
import { count, exactTime, plural } from '../../client/format.ts';
import type { Delivery, Webhook } from '../../client/types.ts';
import { change, newKey, read } from '../api-client.ts';
import { Age, DeliveryState, QueryState, WebhookState } from '../components/basics.tsx';
import { type ListColumn, ListTable } from '../components/list-table.tsx';
import { announcement, useAction, useTitle } from '../hooks.ts';
import { useQuery } from '../query.ts';
import { hrefWith } from '../router.ts';
import { NotFoundPage } from './notices.tsx';

const PAGE = '25';
/** `pending`: while a delivery is pending. */
const POLL_MS = { pending: 1_000, idle: 10_000 };

function Attempts({ attempts, next_attempt_at }: Delivery) {
  if (attempts.length === 0) return <span class="quiet">Not sent yet</span>;
  const last = attempts.at(-1)!;
  return (
    <details>
      <summary>
        {plural(attempts.length, 'attempt')}, the last <Age time={last.at} />:{' '}
        {last.error ?? `answered ${last.code}`}
      </summary>
      <ol class="attempts">
        {attempts.map(({ at, code, error, duration_ms }) => (
          <li key={at}>
            {exactTime(at)}: {error ?? `answered ${code}`}{' '}
            <span class="quiet numbers">{count(duration_ms)} ms</span>
          </li>
        ))}
      </ol>
      {next_attempt_at && <p class="quiet">Next attempt {exactTime(next_attempt_at)}</p>}
    </details>
  );
}

interface RedeliverProps {
  delivery: Delivery;
  path: string;
  onSent: () => void;
}

function Redeliver({ delivery: { delivery_id: id }, path, onSent }: RedeliverProps) {
  const { isBusy, problem, run } = useAction();
  const send = () =>
    run(async () => {
      await change('POST', `${path}/${id}/redeliver`, undefined, newKey());
      announcement.set(`Sending delivery ${id} again`);
      onSent();
    });
  return (
    <>
      <button
        type="button"
        class="small"
        disabled={isBusy}
        onClick={send}
        aria-label={`Send again: delivery ${id}`}
      >
        Send again
      </button>
      {problem && <span class="failure">{problem.detail || problem.title}</span>}
    </>
  );
}

const eventOf = ({ type, job_id }: Delivery) => {
  if (job_id === null) return type;
  const isImport = type === 'import.ended' || type === 'deletion.ended';
  return (
    <>
      {type} {isImport ? <a href={`/console/imports/${job_id}`}>import {job_id}</a> : `load ${job_id}`}
    </>
  );
};

export function WebhookDetailPage({ id }: { id: number }) {
  useTitle(`Webhook ${id}`);
  const at = `${webhookPath}/${id}`;
  const [cursor, setCursor] = useState<string>();
  const path = `${at}/deliveries`;
  const page = hrefWith(path, { limit: PAGE, cursor });
  const webhook = useQuery(at, async (signal) => (await read<Webhook>(at, signal)).data);
  const deliveries = useQuery(page, (signal) => read<Delivery[]>(page, signal), {
    again: ({ data }) => POLL_MS[data.some(({ status }) => status === 'pending') ? 'pending' : 'idle'],
    keep: true,
  });
  if (webhook.problem?.status === 404) return <NotFoundPage what="webhook" />;
  if (!webhook.data) return <QueryState query={webhook} rows={8} />;

  const columns: ListColumn<Delivery>[] = [
    {
      label: 'Event',
      isName: true,
      cell: (delivery) => (
        <>
          <span class="quiet numbers">{delivery.delivery_id}</span> {eventOf(delivery)}
        </>
      ),
    },
    { label: 'Status', cell: ({ status }) => <DeliveryState status={status} /> },
    { label: 'Attempts', cell: Attempts },
    { label: 'Created', cell: ({ created_at }) => <Age time={created_at} /> },
    {
      label: 'Again',
      cell: (delivery) => <Redeliver delivery={delivery} path={path} onSent={deliveries.reload} />,
    },
  ];
  const rows = deliveries.data?.data;
  return (
    <>
      <div class="report-head stack stack-tight">
        <p class="crumb">
          <a href="/console/webhooks">Webhooks</a> / Webhook {id}
        </p>
        <h1>{webhook.data.url}</h1>
        <p class="head-state">
          <WebhookState webhook={webhook.data} />
          {webhook.data.description}
        </p>
      </div>
      <section>
        <h2>Deliveries</h2>
        <QueryState query={deliveries} rows={5} />
        {rows && rows.length > 0 && (
          <ListTable
            caption="Deliveries, newest first"
            columns={columns}
            rows={rows}
            rowKey={({ delivery_id }) => delivery_id}
            isStale={deliveries.isStale}
          />
        )}
        {rows?.length === 0 && <p class="quiet">Nothing has been sent yet.</p>}
        <p class="actions">
          {cursor && (
            <button type="button" onClick={() => setCursor(undefined)}>
              Newest
            </button>
          )}
          {deliveries.data?.next && (
            <button type="button" onClick={() => setCursor(deliveries.data!.next!)}>
              Older
            </button>
          )}
        </p>
      </section>
    </>
  );
}
