import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { asOf, exactTime, percent } from '../../../client/format.ts';
import type { Audience } from '../../../client/types.ts';
import { type CompositionState, computeAgain, downloadCsv } from '../../composition.ts';
import { isOutdated } from '../../figures.ts';
import { useAction, useNow } from '../../hooks.ts';
import type { Query } from '../../query.ts';
import { Problem, Status } from '../basics.tsx';
import { SharePanel } from './share-panel.tsx';

const MINUTE_MS = 60_000;

function State({ audience, composition: { data, problem } }: Pick<Props, 'audience' | 'composition'>) {
  const now = useNow(MINUTE_MS);
  const report = data?.report;
  const progress = data?.computing && `${percent(data.computing.progress)}`;
  if (!report)
    return (
      <span>
        {progress ? `Computing ${progress}` : problem ? 'Could not be computed' : 'Loading the report'}
      </span>
    );
  return (
    <>
      <time dateTime={report.computed_at} title={exactTime(report.computed_at)}>
        as of <span class="screen-only">{asOf(report.computed_at, now)}</span>
        <span class="print-only">{exactTime(report.computed_at)}</span>
      </time>
      {progress && <span>, updating {progress}</span>}
      {!progress && (problem || isOutdated(report, audience)) && (
        <strong class="figure-outdated"> · out of date</strong>
      )}
    </>
  );
}

interface Props {
  /** The API path of the report. */
  path: string;
  audience: Audience;
  composition: Query<CompositionState>;
  /** A share link may only read. */
  isShared: boolean;
  isPartner: boolean;
  /** Further actions. */
  children?: ComponentChildren;
}

/** The time of the report, and its actions. */
export function ReportBar({ path, audience, composition, isShared, isPartner, children }: Props) {
  const { problem, run } = useAction();
  const [isSharing, setSharing] = useState(false);
  const attempt = (action: () => Promise<unknown>) => (event: Event) => {
    event.preventDefault();
    return run(action);
  };
  const compute = attempt(() => computeAgain(path).finally(composition.reload));
  const isComputing = !!composition.data?.computing;
  const hasDevices = audience.unique_devices > 0;
  return (
    <>
      <div class="report-bar spread">
        <div class="head-state">
          <Status status={audience.status} rejected={audience.rows_rejected} />
          {hasDevices && (
            <>
              <p class="numbers" aria-live="polite">
                <State audience={audience} composition={composition} />
              </p>
              <button
                type="button"
                class="small"
                onClick={isShared ? composition.reload : compute}
                disabled={isComputing}
              >
                Refresh
              </button>
            </>
          )}
        </div>
        {hasDevices && (
          <div class="actions">
            {children}
            {isPartner && (
              <button type="button" aria-expanded={isSharing} onClick={() => setSharing(!isSharing)}>
                Share
              </button>
            )}
            <button type="button" onClick={() => window.print()}>
              Print or PDF
            </button>
            <a class="button" href={`${path}?format=csv`} download onClick={attempt(() => downloadCsv(path))}>
              Download CSV
            </a>
          </div>
        )}
      </div>
      {isSharing && <SharePanel path={path} />}
      {problem && <Problem problem={problem} />}
      {composition.problem && <Problem problem={composition.problem} retry={composition.reload} />}
    </>
  );
}
