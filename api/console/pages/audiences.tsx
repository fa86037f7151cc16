import { audiencePath } from '../../client/client.ts';
import { count, percent } from '../../client/format.ts';
import type { Audience, Load, Session } from '../../client/types.ts';
import { isOpen } from '../../client/words.ts';
import { read } from '../api-client.ts';
import { Age, EmptyState, notYet, Status, UploadLink } from '../components/basics.tsx';
import { ListPage } from '../components/list-page.tsx';
import type { ListColumn } from '../components/list-table.tsx';
import { InlineProgress } from '../components/progress.tsx';
import { shareOf } from '../funnel.ts';
import { firstOpen, useProgress } from '../progress.ts';
import { useQuery } from '../query.ts';

function AudienceProgress({ audience }: { audience: Audience }) {
  const at = `${audiencePath}/${audience.audience_id}/loads`;
  const loads = useQuery(
    `${at} ${audience.updated_at}`,
    async (signal) => (await read<Load[]>(`${at}?limit=20`, signal)).data,
    { keep: true },
  );
  const load = firstOpen(loads.data ?? []);
  const progress = useProgress(load ? `${at}/${load.load_id}` : null);
  return <InlineProgress progress={progress} label={`Progress of ${audience.name}`} />;
}

/** A 0 of an unfinished load is shown as –. */
const isCounted = ({ unique_devices, status }: Audience) => unique_devices > 0 || !isOpen(status);

function MatchRate({ audience }: { audience: Audience }) {
  const share = shareOf(audience.matched_devices, audience.unique_devices);
  if (!isCounted(audience)) return notYet;
  if (!share) return <span title="No matches, or too few to show">–</span>;
  return <span title={`${count(audience.matched_devices)} matched devices`}>{percent(share)}</span>;
}

const columns: ListColumn<Audience>[] = [
  {
    label: 'Audience',
    isName: true,
    cell: ({ name, default_warehouse_segment_id: segment }) => (
      <a href={`/console/segments/${segment}`}>{name}</a>
    ),
  },
  {
    label: 'Status',
    cell: (audience) => (
      <>
        <Status status={audience.status} rejected={audience.rows_rejected} />
        {audience.cleared_at !== null && audience.unique_devices === 0 && !isOpen(audience.status) && (
          <span class="quiet">
            {' '}
            cleared <Age time={audience.cleared_at} />
          </span>
        )}
        {isOpen(audience.status) && <AudienceProgress audience={audience} />}
      </>
    ),
  },
  {
    label: 'Unique devices',
    isNumber: true,
    cell: (audience) => (isCounted(audience) ? count(audience.unique_devices) : notYet),
  },
  { label: 'Match rate', isNumber: true, cell: (audience) => <MatchRate audience={audience} /> },
  { label: 'Updated', cell: ({ updated_at }) => <Age time={updated_at} /> },
];

export function AudiencesPage({ session, query }: { session: Session; query: URLSearchParams }) {
  return (
    <ListPage
      title="Audiences"
      noun="audience"
      path="/console/audiences"
      apiPath={audiencePath}
      query={query}
      searchLabel="Search by name"
      columns={columns}
      action={<UploadLink session={session} as="audience" />}
      rowKey={(audience) => audience.audience_id}
      empty={
        <EmptyState isPage title="There are no audiences yet">
          {session.customer === null ? (
            <>
              <p>
                Upload a file of device identifiers, optionally with events. The audience appears here at
                once, and you can watch it load.
              </p>
              <UploadLink session={session} as="audience" />
            </>
          ) : (
            <p>They appear here as soon as {session.partner_name} loads one for you.</p>
          )}
        </EmptyState>
      }
    />
  );
}
