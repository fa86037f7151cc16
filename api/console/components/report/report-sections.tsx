import type { Audience, Composition } from '../../answers.ts';
import { count } from '../../format.ts';
import { isOpen } from '../../words.ts';
import { EmptyState } from '../empty-state.tsx';
import { SkeletonRows } from '../skeleton.tsx';
import { AttributesTable, EventsTable, OverlapsTable } from './report-tables.tsx';

const FloorNote = ({ floor }: { floor: number }) =>
  floor > 0 ? (
    <p class="notice">
      Numbers under {count(floor)} are hidden, so that no report tells whether a single device is known.
    </p>
  ) : null;

function Attributes({ report }: { report: Composition }) {
  return (
    <>
      <FloorNote floor={report.floor} />
      {report.attributes.length === 0 || report.matched_devices === 0 ? (
        <EmptyState title="None of these devices has a marketplace attribute" />
      ) : (
        <AttributesTable report={report} />
      )}
    </>
  );
}

interface Props {
  audience: Audience;
  report: Composition | null | undefined;
  hasFailed: boolean;
}

/** Why there is no report, or the place that it will take. */
function Missing({ audience, hasFailed }: Pick<Props, 'audience' | 'hasFailed'>) {
  if (hasFailed) return <EmptyState title="There is no report: it could not be computed" />;
  if (audience.unique_devices > 0) return <SkeletonRows rows={12} />;
  return isOpen(audience.status) ? (
    <EmptyState title="The first load has not ended">
      <p>Attributes, events and overlaps appear here when it has.</p>
    </EmptyState>
  ) : (
    <EmptyState title="There are no devices in this audience">
      <p>Add some, as shown below, and watch them load here.</p>
    </EmptyState>
  );
}

/** The parts of the report that come from the computed composition. */
export function ReportSections({ audience, report, hasFailed }: Props) {
  return (
    <>
      <section>
        <h2>Composition by attribute</h2>
        <p class="quiet">
          Which marketplace attributes the devices have. Index 100 is as common as among all marketplace
          devices, 200 is twice as common.
        </p>
        {report ? <Attributes report={report} /> : <Missing audience={audience} hasFailed={hasFailed} />}
      </section>
      {report && (
        <>
          <section>
            <h2>Events</h2>
            <p class="quiet">The second column of the files: what the devices did.</p>
            {report.events.length > 0 ? (
              <EventsTable report={report} />
            ) : (
              <EmptyState title="The files have no events" />
            )}
          </section>
          <section>
            <h2>Overlap with other audiences</h2>
            <p class="quiet">Devices that are in this audience and in another one.</p>
            {report.overlaps.length > 0 ? (
              <OverlapsTable report={report} />
            ) : (
              <EmptyState title="There is no other audience with devices" />
            )}
          </section>
        </>
      )}
    </>
  );
}
