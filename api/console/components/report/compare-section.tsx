import { useMemo } from 'preact/hooks';
import { audiencePath } from '../../../client/client.ts';
import { count, percent, plural } from '../../../client/format.ts';
import type { Composition } from '../../../client/types.ts';
import { commonDevices, compareReports, type Pair } from '../../compare.ts';
import { useComposition } from '../../composition.ts';
import { EmptyState, Problem, SkeletonRows } from '../basics.tsx';
import { type Column, ReportTable } from '../report-table.tsx';
import { DifferenceCell, shareColumn } from './cells.tsx';
import { Clamped } from './report-tables.tsx';
import { unitFor, VennCircles } from './venn-picture.tsx';

/** Both bars of a row, stacked, on the same scale. */
const columnsOf = (label: string, largest: number): Column<Pair>[] => [
  {
    id: 'name',
    label,
    cell: ({ name, owner }) => (
      <span class="named stacked">
        <Clamped text={name} />
        {owner && <span class="owner-line">{owner}</span>}
      </span>
    ),
    sortBy: ({ name }) => name,
  },
  shareColumn({ label: 'This audience', share: ({ shares: [share] }) => share }),
  shareColumn({ label: 'The other', share: ({ shares: [, share] }) => share, of: 'other' }),
  {
    id: 'difference',
    label: 'Difference',
    isNumber: true,
    hint: 'In percentage points',
    cell: ({ difference }) => <DifferenceCell difference={difference} largest={largest} />,
    sortBy: ({ difference }) => difference,
  },
];

interface TableProps {
  /** What is compared, such as `Attribute`. */
  label: string;
  note?: string;
  pairs: Pair[];
  file: string;
}

function PairsSection({ label, note, pairs, file }: TableProps) {
  const noun = label.toLowerCase();
  return (
    <section>
      <h2>{label}s</h2>
      {note && <p class="quiet">{note}</p>}
      {pairs.length === 0 ? (
        <EmptyState title={`Neither audience has ${noun}s to compare`} />
      ) : (
        <ReportTable
          caption={`Compared ${noun}s`}
          columns={columnsOf(label, Math.abs(pairs[0]!.difference))}
          rows={pairs}
          rowKey={({ key }) => key}
          searchText={({ name, owner }) => `${name} ${owner ?? ''}`}
          noun={noun}
          file={`${file}-compared-${noun}s`}
        />
      )}
    </section>
  );
}

function SideBySide({ one, other }: { one: Composition; other: Composition }) {
  const sides = [one, other] as const;
  const common = commonDevices(one, other);
  const sizes = { devices: one.unique_devices, other: other.unique_devices };
  return (
    <div class="card compared">
      {sides.map((report, i) => (
        <dl key={report.audience_id} class="compared-side stack stack-tight">
          <div>
            <dt class={`key key-${i === 0 ? 'this' : 'other'}`}>{report.name}</dt>
            <dd class="figure-value">{plural(report.unique_devices, 'device')}</dd>
          </div>
          <div>
            <dt>Matched</dt>
            <dd>
              {report.matched_devices === null
                ? `under ${count(report.floor)}`
                : `${count(report.matched_devices)} (${percent(report.match_rate ?? 0)})`}
            </dd>
          </div>
          <div>
            <dt>Also in the other</dt>
            <dd>
              {common === null
                ? '–'
                : `${count(common)} (${percent(common / Math.max(1, report.unique_devices))})`}
            </dd>
          </div>
        </dl>
      ))}
      {common !== null && (
        <VennCircles
          name={one.name}
          otherName={other.name}
          {...sizes}
          common={common}
          unit={unitFor([sizes])}
        />
      )}
    </div>
  );
}

interface Props {
  report: Composition;
  /** The other audience. */
  audience: number;
  /** The address without the comparison. */
  back: string;
  file: string;
}

/** Compares two audiences: the largest differences of shares first. */
export function CompareSection({ report, audience, back, file }: Props) {
  const composition = useComposition(`${audiencePath}/${audience}/composition`);
  const other = composition.data?.report;
  const pairs = useMemo(() => other && compareReports(report, other), [report, other]);
  return (
    <>
      <div class="table-tools">
        <h2>{other ? `Compared with ${other.name}` : 'Comparison'}</h2>
        <a class="button small" href={back}>
          Back to the report
        </a>
      </div>
      {composition.problem && <Problem problem={composition.problem} retry={composition.reload} />}
      {!other || !pairs ? (
        !composition.problem && <SkeletonRows rows={8} />
      ) : (
        <>
          <SideBySide one={report} other={other} />
          <PairsSection
            label="Attribute"
            note="The share of each audience that has the attribute; the largest differences first."
            pairs={pairs.attributes}
            file={file}
          />
          <PairsSection label="Event" pairs={pairs.events} file={file} />
        </>
      )}
    </>
  );
}
