import { privacyPath } from '../../client/client.ts';
import type { PrivacyRequest } from '../../client/types.ts';
import { isOpen, requestTitle } from '../../client/words.ts';
import { Age, counted, EmptyState, Status } from '../components/basics.tsx';
import { ListPage } from '../components/list-page.tsx';
import type { ListColumn } from '../components/list-table.tsx';

const path = '/console/requests';
/** `open`: while a request is unfinished. */
const POLL_MS = { open: 1_000, idle: 10_000 };

const columns: ListColumn<PrivacyRequest>[] = [
  {
    label: 'Request',
    isName: true,
    cell: (request) => (
      <a href={`${path}/${request.request_id}`}>
        <span class="quiet numbers">{request.request_id}</span> {requestTitle(request)}
      </a>
    ),
  },
  { label: 'Status', cell: ({ status }) => <Status status={status} /> },
  { label: 'Identifiers', isNumber: true, cell: ({ identifiers }) => counted(identifiers) },
  { label: 'Found', isNumber: true, cell: ({ found }) => counted(found) },
  { label: 'Submitted', cell: ({ created_at }) => <Age time={created_at} /> },
];

const NewRequest = () => (
  <a class="button primary" href="/console/new-request">
    New request
  </a>
);

export function RequestsPage({ query }: { query: URLSearchParams }) {
  return (
    <ListPage
      title="Privacy requests"
      noun="privacy request"
      path={path}
      apiPath={privacyPath}
      query={query}
      columns={columns}
      action={<NewRequest />}
      rowKey={({ request_id }) => request_id}
      again={(rows) => POLL_MS[rows.some(({ status }) => isOpen(status)) ? 'open' : 'idle']}
      empty={
        <EmptyState isPage title="There are no privacy requests yet">
          <p>
            People may ask to have the data about their devices deleted, or to see it. Each request gets a
            signed receipt.
          </p>
          <NewRequest />
        </EmptyState>
      }
    />
  );
}
