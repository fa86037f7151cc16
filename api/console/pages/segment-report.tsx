import { useEffect, useRef } from 'preact/hooks';
import { audiencePath } from '../../client/client.ts';
import { count, plural } from '../../client/format.ts';
import type { Audience, FileReport, Load, Session } from '../../client/types.ts';
import { isOpen, statusWords } from '../../client/words.ts';
import { read } from '../api-client.ts';
import { Age, Errors, Problem, SkeletonRows, Status } from '../components/basics.tsx';
import { FilesTable } from '../components/files-table.tsx';
import { ProgressCard } from '../components/progress.tsx';
import { FunnelSection } from '../components/report/funnel-section.tsx';
import { GrowthSection } from '../components/report/growth-section.tsx';
import { NextSteps } from '../components/report/next-steps.tsx';
import { ReportSections } from '../components/report/report-sections.tsx';
import { ReportBar } from '../components/report/report-state.tsx';
import { useComposition } from '../composition.ts';
import { sumRejects, totalRejects } from '../funnel.ts';
import { useAnnounce, useTitle } from '../hooks.ts';
import { useLive } from '../live.ts';
import { firstOpen, useProgress } from '../progress.ts';
import { useQuery } from '../query.ts';
import { NotFoundPage } from './notices.tsx';

const LOADS = 1_000;
const APART_MS = 500;

/** All data of the report, reloaded on events. */
function useReport(segment: number) {
  const bySegment = `${audiencePath}?segment_id=${segment}`;
  const audience = useQuery(bySegment, async (signal) => (await read<Audience[]>(bySegment, signal)).data, {
    apartMs: APART_MS,
  });
  const record = audience.data?.[0];
  const path = record ? `${audiencePath}/${record.audience_id}` : null;
  const loads = useQuery(
    path && `${path}/loads`,
    (signal) => read<Load[]>(`${path}/loads?limit=${LOADS}`, signal),
    {
      apartMs: APART_MS,
    },
  );
  const files = useQuery(path && `${path}/files`, (signal) => read<FileReport[]>(`${path}/files`, signal), {
    apartMs: APART_MS,
  });
  const hasDevices = record && record.unique_devices > 0;
  const composition = useComposition(path && hasDevices ? `${path}/composition` : null);
  useLive(`${audiencePath}/events`, ({ type, data }) => {
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

export function SegmentReportPage({ session, segment }: { session: Session; segment: number }) {
  const { audience, record, path, loads, files, composition } = useReport(segment);
  const load = firstOpen(loads.data?.data ?? []);
  const openLoads = (loads.data?.data ?? []).filter(({ status }) => isOpen(status)).length;
  const progress = useProgress(load && path ? `${path}/loads/${load.load_id}` : null);
  useTitle(record?.name ?? 'Report');
  useAnnounce(
    record &&
      `${record.name}: ${statusWords[record.status]}, ${plural(record.unique_devices, 'unique device')}`,
  );

  if (audience.data?.length === 0) return <NotFoundPage what="report" />;
  // Render all parts at once: parts that arrive one by one would push each other down.
  const isRead = [loads, files].every(({ data, problem }) => data || problem);
  if (!record || !path || !isRead)
    return audience.problem ? (
      <Problem problem={audience.problem} retry={audience.reload} />
    ) : (
      <>
        <h1 class="quiet">Loading the report</h1>
        <SkeletonRows rows={10} />
      </>
    );
  const rejects = totalRejects(sumRejects((files.data?.data ?? []).map((file) => file.rows_rejected)));
  const state = {
    report: composition.data?.report ?? null,
    computing: composition.data?.computing ?? null,
    failure: composition.problem?.title,
  };
  return (
    <>
      <div class="page-head report-head">
        <p class="crumb">
          <a href="/console/audiences">Audiences</a> / Audience {record.audience_id}, segment {segment}
        </p>
        <h1>{record.name}</h1>
        <p class="head-state">
          <Status status={record.status} />
          <span class="quiet">
            updated <Age time={record.updated_at} />
          </span>
        </p>
      </div>
      {audience.problem && <Problem problem={audience.problem} retry={audience.reload} />}
      {load && (
        <ProgressCard
          title={`Progress of load ${load.load_id}`}
          progress={progress}
          following={openLoads - 1}
        />
      )}
      {record.status === 3 && <Errors errors={lastFailure(loads.data?.data ?? [])} />}
      <FunnelSection audience={record} files={files.data?.data} state={state} />
      {record.unique_devices > 0 && (
        <ReportBar path={`${path}/composition`} audience={record} composition={composition} />
      )}
      <ReportSections
        audience={record}
        report={composition.data?.report}
        path={`${path}/composition`}
        hasFailed={!!composition.problem}
      />
      <GrowthSection loads={loads.data?.data} hasMore={!!loads.data?.next} />
      <section>
        <h2>Files</h2>
        <p class="quiet">All files of the audience, with their rejected rows.</p>
        {rejects > 0 && (
          <div class="table-tools">
            <a class="button" href={`${path}/rejects`} download="rejects.ndjson">
              Download rejected rows
            </a>
            <p class="quiet numbers">{count(rejects)} rejected</p>
          </div>
        )}
        <FilesTable files={files.data?.data} problem={files.problem} retry={files.reload} />
      </section>
      <NextSteps audience={record} session={session} hasRejects={rejects > 0} />
    </>
  );
}
