import { useEffect, useRef } from 'preact/hooks';
import { audiencePath } from '../../client/client.ts';
import { count, plural } from '../../client/format.ts';
import type { Audience, FileReport, Load, Session } from '../../client/types.ts';
import { isOpen, statusWords } from '../../client/words.ts';
import { read } from '../api-client.ts';
import { CsvButton, Errors, Problem, SkeletonRows } from '../components/basics.tsx';
import { FilesTable } from '../components/files-table.tsx';
import { ProgressCard } from '../components/progress.tsx';
import { CompareSection } from '../components/report/compare-section.tsx';
import { CompareWith } from '../components/report/compare-with.tsx';
import { FunnelSection } from '../components/report/funnel-section.tsx';
import { GrowthSection } from '../components/report/growth-section.tsx';
import { NextSteps } from '../components/report/next-steps.tsx';
import { ReportSections } from '../components/report/report-sections.tsx';
import { ReportBar } from '../components/report/report-state.tsx';
import { useComposition } from '../composition.ts';
import { fileNameOf, saveCsv } from '../csv.ts';
import { sumRejects, totalRejects } from '../funnel.ts';
import { useAnnounce, useTitle } from '../hooks.ts';
import { useLive } from '../live.ts';
import { firstOpen, useProgress } from '../progress.ts';
import { useQuery } from '../query.ts';
import { hrefWith } from '../router.ts';
import { NotFoundPage } from './notices.tsx';

const LOADS = 1_000;
const APART_MS = 500;

/** All data of the report, reloaded on events. A share link reads only the report, without events. */
function useReport(segment: number, isShared: boolean) {
  const bySegment = `${audiencePath}?segment_id=${segment}`;
  const options = { apartMs: APART_MS };
  const audience = useQuery(
    bySegment,
    async (signal) => (await read<Audience[]>(bySegment, signal)).data,
    options,
  );
  const record = audience.data?.[0];
  const path = record ? `${audiencePath}/${record.audience_id}` : null;
  const loads = useQuery(
    path && `${path}/loads`,
    (signal) => read<Load[]>(`${path}/loads?limit=${LOADS}`, signal),
    options,
  );
  const files = useQuery(
    isShared ? null : path && `${path}/files`,
    (signal) => read<FileReport[]>(`${path}/files`, signal),
    options,
  );
  const devices = record?.unique_devices ?? 0;
  const composition = useComposition(path && devices > 0 ? `${path}/composition` : null, devices);
  useLive(isShared ? null : `${audiencePath}/events`, ({ type, data }) => {
    if (type !== 'resync' && data.audience_id !== record?.audience_id) return;
    for (const query of [audience, loads, files]) query.refresh();
  });
  const changed = record && `${record.status} ${record.updated_at}`;
  const known = useRef(changed);
  useEffect(() => {
    // Reports are computed on demand: request one when the audience has changed.
    if (known.current !== undefined && known.current !== changed) composition.refresh();
    known.current = changed;
  }, [changed]);
  return { audience, record, path, loads, files, composition };
}

const lastFailure = (loads: Load[]) => loads.find(({ status }) => status === 3)?.errors ?? null;

/** The next step, for the partner; customers cannot act on a failure. */
const FailureNotice = ({ session }: { session: Session }) => (
  <p class="problem">
    A load of this audience failed, so devices may be missing. Ask {session.partner_name} for details.
  </p>
);

function FilesSection({ path, files, file }: { path: string; files: FileReport[]; file: string }) {
  const rejects = totalRejects(sumRejects(files.map((one) => one.rows_rejected)));
  const save = () =>
    saveCsv(
      file,
      ['File', 'Status', 'Rows', 'Accepted', 'Duplicates', 'Rejected'],
      files.map((one) => [
        one.s3_path,
        statusWords[one.status],
        one.rows,
        one.rows_accepted,
        one.rows_duplicate,
        totalRejects(one.rows_rejected),
      ]),
    );
  return (
    <div class="table-tools">
      {rejects > 0 && (
        <>
          <a class="button" href={`${path}/rejects`} download="rejects.ndjson">
            Download rejected rows
          </a>
          <p class="quiet numbers">{count(rejects)} rejected</p>
        </>
      )}
      <CsvButton caption="Files" onClick={save} />
    </div>
  );
}

interface Props {
  session: Session;
  segment: number;
  query: URLSearchParams;
}

export function SegmentReportPage({ session, segment, query }: Props) {
  const isShared = session.shared_segment_id !== null;
  const isPartner = session.customer === null && !isShared;
  const { audience, record, path, loads, files, composition } = useReport(segment, isShared);
  const load = isShared ? undefined : firstOpen(loads.data?.data ?? []);
  const openLoads = (loads.data?.data ?? []).filter(({ status }) => isOpen(status)).length;
  const progress = useProgress(load && path ? `${path}/loads/${load.load_id}` : null);
  useTitle(record?.name ?? 'Report');
  useAnnounce(
    record &&
      `${record.name}: ${statusWords[record.status]}, ${plural(record.unique_devices, 'unique device')}`,
  );

  if (audience.data?.length === 0) return <NotFoundPage what="report" />;
  // Render all parts at once, so that the layout does not jump.
  const isRead = [loads, files].every(({ data, problem }) => data || problem || isShared);
  if (!record || !path || !isRead)
    return audience.problem ? (
      <Problem problem={audience.problem} retry={audience.reload} />
    ) : (
      <>
        <h1 class="quiet">Loading the report</h1>
        <SkeletonRows rows={10} />
      </>
    );
  const report = composition.data?.report ?? null;
  const state = {
    report,
    computing: composition.data?.computing ?? null,
    failure: composition.problem?.title,
  };
  const here = `/console/segments/${segment}`;
  const compareWith = isShared ? undefined : (other: number) => hrefWith(here, { compare: String(other) });
  const compared = isShared ? 0 : Number(query.get('compare') ?? 0);
  const file = fileNameOf(record.name);
  return (
    <>
      <div class="report-head stack stack-tight">
        <p class="crumb">
          {isShared ? (
            `Shared by ${session.partner_name}, read-only`
          ) : (
            <>
              <a href="/console/audiences">Audiences</a>
              {isPartner && ` / Audience ${record.audience_id}, segment ${segment}`}
            </>
          )}
        </p>
        <h1>{record.name}</h1>
        <p class="print-only quiet">
          {session.partner_name}
          {session.customer !== null && ` for ${session.customer}`}
        </p>
      </div>
      <ReportBar
        path={`${path}/composition`}
        audience={record}
        composition={composition}
        isShared={isShared}
        isPartner={isPartner}
      >
        {compareWith && (
          <CompareWith audience={record.audience_id} chosen={compared} here={here} hrefOf={compareWith} />
        )}
      </ReportBar>
      {audience.problem && <Problem problem={audience.problem} retry={audience.reload} />}
      {load && (
        <ProgressCard
          title={`Progress of load ${load.load_id}`}
          progress={progress}
          following={openLoads - 1}
        />
      )}
      {record.status === 3 &&
        (isPartner ? (
          <Errors errors={lastFailure(loads.data?.data ?? [])} />
        ) : (
          <FailureNotice session={session} />
        ))}
      {compared > 0 ? (
        report ? (
          <CompareSection key={compared} report={report} audience={compared} back={here} file={file} />
        ) : (
          <SkeletonRows rows={8} />
        )
      ) : (
        <>
          <FunnelSection audience={record} files={isShared ? null : files.data?.data} state={state} />
          <ReportSections
            audience={record}
            report={report}
            path={`${path}/composition`}
            hasFailed={!!composition.problem}
            isPartner={isPartner}
            file={file}
            compareWith={compareWith}
          />
          <GrowthSection
            loads={loads.data?.data}
            hasMore={!!loads.data?.next}
            showsPaths={isPartner}
            file={`${file}-loads`}
          />
        </>
      )}
      {isPartner && compared === 0 && (
        <>
          <section class="screen-only">
            <h2>Files</h2>
            <p class="quiet">All files of the audience, with their rejected rows.</p>
            {!!files.data?.data.length && (
              <FilesSection path={path} files={files.data.data} file={`${file}-files`} />
            )}
            <FilesTable query={files} hasEnded={!isOpen(record.status)} />
          </section>
          <NextSteps
            audience={record}
            session={session}
            hasFiles={!!files.data?.data.length}
            hasRejects={(files.data?.data ?? []).some((one) => totalRejects(one.rows_rejected) > 0)}
          />
        </>
      )}
    </>
  );
}
