import { importPath } from '../../client/client.ts';
import type { ImportLog, Session } from '../../client/types.ts';
import { importTitle, isOpen } from '../../client/words.ts';
import { Age, counted, EmptyState, Status, UploadLink } from '../components/basics.tsx';
import { ListPage } from '../components/list-page.tsx';
import type { ListColumn } from '../components/list-table.tsx';
import { InlineProgress } from '../components/progress.tsx';
import { useProgress } from '../progress.ts';

const path = '/console/imports';

function ImportProgress({ id }: { id: number }) {
  const progress = useProgress(`${importPath}/${id}`);
  return <InlineProgress progress={progress} label={`Progress of import ${id}`} />;
}

/** Counts of an unfinished job are not final. */
const final = (log: ImportLog, value: string) => counted(isOpen(log.status) ? null : Number(value));

const columns: ListColumn<ImportLog>[] = [
  {
    label: 'Import',
    isName: true,
    cell: (log) => (
      <a href={`${path}/${log.import_log_id}`}>
        <span class="quiet numbers">{log.import_log_id}</span> {importTitle(log)}
      </a>
    ),
  },
  {
    label: 'Status',
    cell: (log) => (
      <>
        <Status status={log.status} rejected={log.rows_rejected} />
        {isOpen(log.status) && <ImportProgress id={log.import_log_id} />}
      </>
    ),
  },
  { label: 'Rows', isNumber: true, cell: (log) => final(log, log.total_rows) },
  { label: 'Unique devices', isNumber: true, cell: (log) => final(log, log.unique_devices) },
  { label: 'Submitted', cell: ({ created_at }) => <Age time={created_at} /> },
];

export function ImportsPage({ session, query }: { session: Session; query: URLSearchParams }) {
  return (
    <ListPage
      title="Imports"
      noun="import"
      path={path}
      apiPath={importPath}
      query={query}
      searchLabel="Search by path"
      columns={columns}
      action={<UploadLink session={session} as="import" />}
      rowKey={(log) => log.import_log_id}
      empty={
        <EmptyState isPage title="There are no imports yet">
          <p>
            Upload a file of device identifiers with the keys of your attributes. It appears here at once, and
            you can watch it load.
          </p>
          <UploadLink session={session} as="import" />
        </EmptyState>
      }
    />
  );
}
