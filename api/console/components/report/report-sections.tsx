import { useMemo, useState } from 'preact/hooks';
import { count, shortTime } from '../../../client/format.ts';
import type { Audience, Composition } from '../../../client/types.ts';
import { isOpen } from '../../../client/words.ts';
import { readOverlaps } from '../../composition.ts';
import { useAction } from '../../hooks.ts';
import { EmptyState, Problem, SkeletonRows } from '../basics.tsx';
import { AttributesTable, EventsTable, OverlapsTable } from './report-tables.tsx';
import { OverlapPicture } from './venn-picture.tsx';

const FloorNote = ({ floor }: { floor: number }) =>
  floor > 0 ? (
    <p class="notice">Counts, attributes and overlaps of fewer than {count(floor)} devices are hidden.</p>
  ) : null;

/** Attributes of all partners, or only those of the audience's partner. */
function Attributes({ report, isPartner, file }: { report: Composition; isPartner: boolean; file: string }) {
  const { attributes, floor } = report;
  const [ownOnly, setOwnOnly] = useState(false);
  const own = useMemo(() => attributes.filter((row) => row.own), [attributes]);
  const isMixed = own.length > 0 && own.length < attributes.length;
  return (
    <>
      <FloorNote floor={floor} />
      {isMixed && (
        <label class="choice">
          <input
            type="checkbox"
            checked={ownOnly}
            onChange={(event) => setOwnOnly(event.currentTarget.checked)}
          />
          {isPartner ? 'Only mine' : `Only attributes of ${own[0]!.owner}`}
        </label>
      )}
      {attributes.length === 0 ? (
        <EmptyState
          title={
            floor > 0
              ? `No marketplace attribute is shared by ${count(floor)} devices or more`
              : 'None of these devices has a marketplace attribute'
          }
        />
      ) : (
        <AttributesTable attributes={isMixed && ownOnly ? own : attributes} file={`${file}-attributes`} />
      )}
    </>
  );
}

/** Largest first; all of them on request. */
function Overlaps({ report, path, file, compareWith }: Omit<Props, 'report'> & { report: Composition }) {
  const [all, setAll] = useState<{ report: Composition; overlaps: Composition['overlaps'] }>();
  const { problem, run } = useAction();
  const overlaps = all?.report === report ? all.overlaps : report.overlaps;
  const more = report.overlap_count - overlaps.length;
  const readAll = () => run(async () => setAll({ report, overlaps: await readOverlaps(path) }));
  if (overlaps.length === 0)
    return <EmptyState title="No other audience has devices in common with this one" />;
  return (
    <>
      {!report.overlaps_complete && (
        <p class="notice">Compared with the 1,000 largest of the other audiences.</p>
      )}
      <OverlapPicture report={report} />
      <OverlapsTable overlaps={overlaps} file={`${file}-overlaps`} compareWith={compareWith} />
      {more > 0 && (
        <div class="actions">
          <button type="button" onClick={readAll}>
            Show {count(more)} more
          </button>
        </div>
      )}
      {problem && <Problem problem={problem} />}
    </>
  );
}

interface Props {
  audience: Audience;
  report: Composition | null | undefined;
  /** The API path of the report. */
  path: string;
  hasFailed: boolean;
  isPartner: boolean;
  /** Prefix of the names of CSV files. */
  file: string;
  compareWith: ((audience: number) => string) | undefined;
}

/** Explains why there is no report, or reserves its space. */
function Missing({ audience, hasFailed }: Pick<Props, 'audience' | 'hasFailed'>) {
  if (hasFailed) return <EmptyState title="The report could not be computed" />;
  if (audience.unique_devices > 0) return <SkeletonRows rows={12} />;
  return isOpen(audience.status) ? (
    <EmptyState title="The first load is in progress">
      <p>Attributes, events and overlaps appear here when it is done.</p>
    </EmptyState>
  ) : (
    <EmptyState
      title={
        audience.cleared_at
          ? `Cleared on ${shortTime(audience.cleared_at)}`
          : 'There are no devices in this audience'
      }
    />
  );
}

/** The parts of the report that come from the computed composition. */
export function ReportSections(props: Props) {
  const { audience, report, hasFailed, isPartner, file } = props;
  return (
    <>
      <section>
        <h2>What stands out</h2>
        {report ? (
          <>
            <p class="quiet">
              Marketplace attributes of these devices. Index 100 is as common as among all marketplace
              devices; bars reach from a quarter (25) to four times (400). Grey bars may be chance; they come
              last.
            </p>
            <Attributes report={report} isPartner={isPartner} file={file} />
          </>
        ) : (
          <Missing audience={audience} hasFailed={hasFailed} />
        )}
      </section>
      {report && (
        <>
          <section>
            <h2>Events</h2>
            <p class="quiet">What the devices did. A device with several events counts in each of them.</p>
            {report.events.length > 0 ? (
              <EventsTable report={report} file={`${file}-events`} />
            ) : (
              <EmptyState title="The files have no events" />
            )}
          </section>
          <section>
            <h2>Overlap with other audiences</h2>
            <p class="quiet">Devices that are in this audience and in another one, as a share of either.</p>
            <Overlaps {...props} report={report} />
          </section>
        </>
      )}
    </>
  );
}
