import { privacyPath } from '../../client/client.ts';
import { count } from '../../client/format.ts';
import type { PrivacyRequest, Session } from '../../client/types.ts';
import { isOpen, requestTitle } from '../../client/words.ts';
import { read } from '../api-client.ts';
import { Age, EmptyState, Pager, QueryState, Status } from '../components/basics.tsx';
import { type ListColumn, ListTable } from '../components/list-table.tsx';
import { useTitle } from '../hooks.ts';
import { useQuery } from '../query.ts';
import { hrefWith } from '../router.ts';
import { NoScopePage } from './notices.tsx';

const PAGE = '25';
const path = '/console/requests';
/** `open`: while a request is unfinished. */
const POLL_MS = { open: 1_000, idle: 10_000 };

const counted = (value: number | null) => (value === null ? <span class="quiet">–</span> : count(value));

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

export function RequestsPage({ session, query }: { session: Session; query: URLSearchParams }) {
  useTitle('Privacy requests');
  const isAllowed = session.scopes.includes('privacy');
  const cursor = query.get('cursor') ?? undefined;
  const page = hrefWith(privacyPath, { limit: PAGE, cursor });
  const list = useQuery(isAllowed ? page : null, (signal) => read<PrivacyRequest[]>(page, signal), {
    again: ({ data }) => POLL_MS[data.some(({ status }) => isOpen(status)) ? 'open' : 'idle'],
    keep: true,
  });
  if (!isAllowed) return <NoScopePage scope="privacy" />;
  const rows = list.data?.data;
  const next = list.data?.next;
  return (
    <>
      <div class="page-head">
        <h1>Privacy requests</h1>
        <div class="actions">{rows && rows.length > 0 && <NewRequest />}</div>
      </div>
      <QueryState query={list} rows={5} />
      {rows && rows.length > 0 && (
        <ListTable
          caption="Privacy requests, newest first"
          columns={columns}
          rows={rows}
          rowKey={({ request_id }) => request_id}
          isStale={list.isStale}
        />
      )}
      {rows?.length === 0 && (
        <EmptyState isPage title="There are no privacy requests yet">
          <p>
            People may ask to have the data about their devices deleted, or to see it. Each request gets a
            signed receipt.
          </p>
          <NewRequest />
        </EmptyState>
      )}
      <Pager
        label="Pages of privacy requests"
        first={cursor && path}
        next={next ? hrefWith(path, { cursor: next }) : undefined}
      />
    </>
  );
}
