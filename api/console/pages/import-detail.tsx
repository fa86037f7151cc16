import { importPath } from '../../client/client.ts';
import type { FileReport, ImportLog, RejectedRow, Session } from '../../client/types.ts';
import { importTitle, isOpen, statusWords } from '../../client/words.ts';
import { read, readRows } from '../api-client.ts';
import { counted, Errors, QueryState, Status, Times } from '../components/basics.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { FilesTable } from '../components/files-table.tsx';
import { RejectedRows } from '../components/rejected-rows.tsx';
import { CorrectRows, SubmitAgain } from '../components/resubmit.tsx';
import { Timeline } from '../components/timeline.tsx';
import { deleteAgain, submitAgain } from '../curl.ts';
import { useAnnounce, useTitle } from '../hooks.ts';
import { useLive } from '../live.ts';
import { useProgress } from '../progress.ts';
import { useQuery } from '../query.ts';
import { NotFoundPage } from './notices.tsx';

/** Rejected rows in the table; the download has all stored ones. */
const REJECTS = 200;
const APART_MS = 500;

function Facts({ log }: { log: ImportLog }) {
  const isDeletion = log.log_type === 1;
  const final = (value: string) => counted(isOpen(log.status) ? null : Number(value));
  return (
    <dl class="facts">
      <dt>{isDeletion ? 'Device-attribute pairs removed' : 'Rows read'}</dt>
      <dd class="numbers">{final(log.total_rows)}</dd>
      <dt>{isDeletion ? 'Devices that lost data' : 'Unique devices'}</dt>
      <dd class="numbers">{final(log.unique_devices)}</dd>
      <dt>Keys in the file</dt>
      <dd>{log.key_type === 0 ? 'attribute ids' : 'your own keys (partner_foreign_key)'}</dd>
      {!isDeletion && (
        <>
          <dt>Storage</dt>
          <dd>{log.path_type === 0 ? 'the shared bucket' : 'your own bucket'}</dd>
        </>
      )}
      <Times {...log} />
    </dl>
  );
}

interface ActionsProps {
  log: ImportLog;
  canImport: boolean;
}

/** Next steps after a failed import. Credentials of a partner's own bucket are not kept, so only a command can submit it again. */
function AfterFailure({ log, canImport }: ActionsProps) {
  if (log.log_type === 1)
    return (
      <CopyCurl title="Delete the data of these keys again" command={deleteAgain(location.origin, log)} />
    );
  if (log.path_type === 1)
    return <CopyCurl title="Submit again" command={submitAgain(location.origin, log, log.file_path)} />;
  return canImport ? <SubmitAgain log={log} /> : null;
}

export function ImportDetailPage({ session, id }: { session: Session; id: number }) {
  const path = `${importPath}/${id}`;
  const options = { apartMs: APART_MS };
  const log = useQuery(path, (signal) => read<ImportLog>(path, signal), options);
  const files = useQuery(`${path}/files`, (signal) => read<FileReport[]>(`${path}/files`, signal), options);
  const rejects = useQuery(
    `${path}/rejects`,
    (signal) => readRows<RejectedRow>(`${path}/rejects`, REJECTS, signal),
    options,
  );
  useLive(`${importPath}/events`, ({ type, data }) => {
    if (type === 'import' && data.import_log_id !== id) return;
    for (const query of [log, files, rejects]) query.refresh();
  });
  const record = log.data?.data;
  // Read again when the job has ended.
  const progress = useProgress(record ? path : null, record?.status);
  useTitle(`Import ${id}`);
  useAnnounce(record && `Import ${id}: ${statusWords[record.status]}`);

  if (log.problem?.status === 404) return <NotFoundPage what="import" />;
  if (!record) return <QueryState query={log} rows={8} />;
  const isDeletion = record.log_type === 1;
  const hasEnded = !isOpen(record.status);
  const canImport = session.scopes.includes('import');
  return (
    <>
      <div class="report-head stack stack-tight">
        <p class="crumb">
          <a href="/console/imports">Imports</a> / {isDeletion ? 'Deletion' : 'Import'} {id}
        </p>
        <h1>{importTitle(record)}</h1>
        <Status status={record.status} rejected={record.rows_rejected} />
      </div>
      <QueryState query={log} rows={8} />
      {progress && (
        <Timeline title={`Progress of import ${id}`} progress={progress} isDeletion={isDeletion} />
      )}
      <Errors errors={record.errors} />
      {record.status === 3 && <AfterFailure log={record} canImport={canImport} />}
      <section class="card" aria-label="Facts">
        <Facts log={record} />
      </section>
      {!isDeletion && (
        <>
          <section>
            <h2>Files</h2>
            <FilesTable query={files} hasEnded={hasEnded} />
          </section>
          <section>
            <h2>Rejected rows</h2>
            <RejectedRows query={rejects} hasEnded={hasEnded} download={`${path}/rejects`} />
            {hasEnded && canImport && rejects.data && <CorrectRows log={record} rejects={rejects.data} />}
          </section>
        </>
      )}
    </>
  );
}
