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

const nothingYet = ({ status }: Audience) =>
  isOpen(status)
    ? 'The first load has not ended: the report follows it.'
    : 'There are no devices in this audience.';

/** The parts of the report that come from the computed composition. */
export function ReportSections({
  audience,
  report,
}: {
  audience: Audience;
  report: Composition | null | undefined;
}) {
  const isEmpty = audience.unique_devices === 0 && !report;
  const waiting = isEmpty ? <EmptyState title={nothingYet(audience)} /> : <SkeletonRows rows={6} />;
  return (
    <>
      <section>
        <h2>Composition by attribute</h2>
        <p class="quiet">
          Which marketplace attributes the devices have. Index 100 is as common as among all marketplace
          devices, 200 is twice as common.
        </p>
        {report && <FloorNote floor={report.floor} />}
        {!report && waiting}
        {report?.attributes.length === 0 && (
          <EmptyState title="None of these devices has a marketplace attribute" />
        )}
        {report && report.attributes.length > 0 && <AttributesTable report={report} />}
      </section>
      <section>
        <h2>Events</h2>
        <p class="quiet">The second column of the files: what the devices did.</p>
        {!report && waiting}
        {report?.events.length === 0 && <EmptyState title="The files have no events" />}
        {report && report.events.length > 0 && <EventsTable report={report} />}
      </section>
      <section>
        <h2>Overlap with other audiences</h2>
        <p class="quiet">Devices that are in this audience and in another one.</p>
        {!report && waiting}
        {report?.overlaps.length === 0 && <EmptyState title="There is no other audience with devices" />}
        {report && report.overlaps.length > 0 && <OverlapsTable report={report} />}
      </section>
    </>
  );
}
