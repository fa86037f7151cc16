import { privacyPath } from '../../client/client.ts';
import type { PrivacyRequestDetails } from '../../client/types.ts';
import { isOpen, requestTitle, statusWords } from '../../client/words.ts';
import { read } from '../api-client.ts';
import { counted, Errors, QueryState, Status, Times } from '../components/basics.tsx';
import { type ListColumn, ListTable } from '../components/list-table.tsx';
import { save } from '../csv.ts';
import { useAnnounce, useTitle } from '../hooks.ts';
import { useQuery } from '../query.ts';
import { NotFoundPage } from './notices.tsx';

const POLL_MS = 1_000;

type Device = NonNullable<PrivacyRequestDetails['devices']>[number];

function Facts({ request }: { request: PrivacyRequestDetails }) {
  return (
    <dl class="facts">
      <dt>Identifiers</dt>
      <dd class="numbers">{counted(request.identifiers)}</dd>
      <dt>{request.type === 'restore' ? 'Suppressed devices found' : 'Devices found'}</dt>
      <dd class="numbers">{counted(request.found)}</dd>
      <Times {...request} />
    </dl>
  );
}

/** The signed record of what was done, for the person who asked. */
function Receipt({ request: { request_id: id, receipt } }: { request: PrivacyRequestDetails }) {
  if (receipt === null) return null;
  return (
    <section>
      <h2>Receipt</h2>
      <p>
        States what was done, where copies remain and until when. It is signed as a JWS (
        <a href="/.well-known/jwks.json">public keys</a>) and names no device.
      </p>
      <p class="actions">
        <button
          type="button"
          onClick={() =>
            save(new Blob([receipt], { type: 'application/jose' }), `receipt-of-request-${id}.jws`)
          }
        >
          Save the receipt
        </button>
      </p>
    </section>
  );
}

const columns: ListColumn<Device>[] = [
  { label: 'Device', isName: true, cell: ({ identifier }) => <code>{identifier}</code> },
  {
    label: 'Attributes',
    cell: ({ attributes }) =>
      attributes.map(({ attribute_id, name }) => name ?? `${attribute_id}, deleted since`).join(', ') || '–',
  },
  {
    label: 'Audiences and events',
    cell: ({ audiences }) =>
      audiences
        .map(({ audience_id, name, events }) =>
          [name ?? `${audience_id}, deleted since`, ...events.filter((event) => event !== '')].join(': '),
        )
        .join(', ') || '–',
  },
];

function Stored({ request: { request_id: id, type, status, devices } }: { request: PrivacyRequestDetails }) {
  if (type !== 'access' || status !== 2) return null;
  return (
    <section>
      <h2>What is stored</h2>
      {devices === null && <p class="quiet">Expired: results are kept for 7 days.</p>}
      {devices?.length === 0 && <p class="quiet">Nothing is stored about these devices.</p>}
      {devices && devices.length > 0 && (
        <>
          <ListTable
            caption="Stored data by device"
            columns={columns}
            rows={devices}
            rowKey={({ identifier }) => identifier}
          />
          <p class="actions">
            <button
              type="button"
              onClick={() =>
                save(
                  new Blob([JSON.stringify(devices, null, 2)], { type: 'application/json' }),
                  `answer-to-request-${id}.json`,
                )
              }
            >
              Save as JSON
            </button>
          </p>
        </>
      )}
    </section>
  );
}

export function RequestDetailPage({ id }: { id: number }) {
  useTitle(`Privacy request ${id}`);
  const path = `${privacyPath}/${id}`;
  const query = useQuery(path, async (signal) => (await read<PrivacyRequestDetails>(path, signal)).data, {
    again: ({ status }) => (isOpen(status) ? POLL_MS : null),
  });
  const request = query.data;
  useAnnounce(request && `Privacy request ${id}: ${statusWords[request.status]}`);
  if (query.problem?.status === 404) return <NotFoundPage what="privacy request" />;
  if (!request) return <QueryState query={query} rows={8} />;
  return (
    <>
      <div class="report-head stack stack-tight">
        <p class="crumb">
          <a href="/console/requests">Privacy requests</a> / Request {id}
        </p>
        <h1>{requestTitle(request)}</h1>
        <Status status={request.status} />
      </div>
      <QueryState query={query} rows={8} />
      <Errors errors={request.errors} />
      <section class="card" aria-label="Facts">
        <Facts request={request} />
      </section>
      <Stored request={request} />
      <Receipt request={request} />
    </>
  );
}
