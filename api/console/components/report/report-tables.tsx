import { useMemo } from 'preact/hooks';
import { count } from '../../../client/format.ts';
import type { Composition } from '../../../client/types.ts';
import { type Attribute, byStandingOut, categoryOf } from '../../stand-out.ts';
import { type Column, ReportTable } from '../report-table.tsx';
import { CountCell, IndexCell, ShareCell, shareColumn } from './cells.tsx';

type Event = Composition['events'][number];
type Overlap = Composition['overlaps'][number];

export const Clamped = ({ text }: { text: string }) => (
  <span class="clamp" title={text}>
    {text}
  </span>
);

/** The name of an attribute; on a narrow screen with the content of hidden columns. */
const AttributeName = ({ row }: { row: Attribute }) => {
  const { category, label } = categoryOf(row.name);
  return (
    <span class="named">
      <span class="clamp" title={`${row.name} (attribute ${row.attribute_id})`}>
        {label}
      </span>
      {row.visibility === 'private' && (
        <span class="tag" title="Visible only to its owner">
          private
        </span>
      )}
      <span class="owner-line">
        {row.visibility === 'private' && 'private, '}
        {row.owner}
        {category && `, ${category}`}
      </span>
    </span>
  );
};

const ownerColumn: Column<Attribute> = {
  id: 'owner',
  label: 'Owner',
  hint: 'The partner that the attribute belongs to',
  cell: ({ owner }) => <Clamped text={owner} />,
  sortBy: ({ owner }) => owner,
};
const categoryColumn: Column<Attribute> = {
  id: 'category',
  label: 'Category',
  cell: ({ name }) => <Clamped text={categoryOf(name).category} />,
  sortBy: ({ name }) => categoryOf(name).category,
};

const attributeColumns: Column<Attribute>[] = [
  {
    id: 'name',
    label: 'Attribute',
    cell: (row) => <AttributeName row={row} />,
    sortBy: ({ name }) => categoryOf(name).label,
  },
  categoryColumn,
  ownerColumn,
  {
    id: 'devices',
    label: 'Devices',
    isNumber: true,
    cell: ({ devices }) => count(devices),
    sortBy: ({ devices }) => devices,
  },
  shareColumn({
    label: 'Share',
    share: ({ share }) => share,
    hint: 'Of the unique devices of this audience',
  }),
  {
    id: 'index',
    label: 'Index',
    isNumber: true,
    hint: '100: as common as among all marketplace devices; 200: twice as common',
    cell: (row) => <IndexCell row={row} />,
    sortBy: ({ index }) => index,
  },
];

export function AttributesTable({ attributes, file }: Pick<Composition, 'attributes'> & { file: string }) {
  const rows = useMemo(() => byStandingOut(attributes), [attributes]);
  const hasCategories = attributes.some(({ name }) => categoryOf(name).category !== '');
  return (
    <ReportTable
      caption="Composition by attribute"
      columns={hasCategories ? attributeColumns : attributeColumns.filter(({ id }) => id !== 'category')}
      rows={rows}
      rowKey={({ attribute_id }) => attribute_id}
      searchText={({ name, attribute_id, owner }) => `${name} ${attribute_id} ${owner}`}
      noun="attribute"
      file={file}
    />
  );
}

export function EventsTable({ report, file }: { report: Composition; file: string }) {
  const { events, floor, unique_devices } = report;
  const shareOf = ({ devices }: Event) => (devices === null ? null : devices / unique_devices);
  const columns: Column<Event>[] = [
    {
      id: 'name',
      label: 'Event',
      cell: ({ event }) => <Clamped text={event} />,
      sortBy: ({ event }) => event,
    },
    {
      id: 'devices',
      label: 'Devices',
      isNumber: true,
      hint: 'Distinct devices with this event',
      cell: ({ devices }) => <CountCell value={devices} floor={floor} />,
      sortBy: ({ devices }) => devices,
    },
    {
      id: 'rows',
      label: 'Rows',
      isNumber: true,
      hint: 'Rows with this event, duplicates included',
      cell: ({ rows }) => <CountCell value={rows} floor={floor} />,
      sortBy: ({ rows }) => rows,
    },
    {
      id: 'share',
      label: 'Share',
      isNumber: true,
      hint: 'Of the unique devices of this audience',
      cell: (row) => {
        const share = shareOf(row);
        return share === null ? <CountCell value={null} floor={floor} /> : <ShareCell share={share} />;
      },
      sortBy: shareOf,
    },
  ];
  return (
    <ReportTable
      caption="Events"
      columns={columns}
      rows={events}
      rowKey={({ event }) => event}
      searchText={({ event }) => event}
      noun="event"
      file={file}
    />
  );
}

interface OverlapsProps extends Pick<Composition, 'overlaps'> {
  file: string;
  /** The address of the comparison with another audience, if the reader may see it. */
  compareWith?: (audience: number) => string;
}

export function OverlapsTable({ overlaps, file, compareWith }: OverlapsProps) {
  const columns = useMemo(
    (): Column<Overlap>[] => [
      {
        id: 'name',
        label: 'Audience',
        cell: ({ name, audience_id }) =>
          compareWith ? (
            <a class="clamp" href={compareWith(audience_id)} title={`Compare with ${name}`}>
              {name}
            </a>
          ) : (
            <Clamped text={name} />
          ),
        sortBy: ({ name }) => name,
      },
      {
        id: 'devices',
        label: 'In both',
        isNumber: true,
        hint: 'Devices that are in both audiences',
        cell: ({ devices }) => count(devices),
        sortBy: ({ devices }) => devices,
      },
      shareColumn({ label: 'Of this audience', share: ({ share_of_this: share }) => share }),
      shareColumn({ label: 'Of the other', share: ({ share_of_other: share }) => share, of: 'other' }),
    ],
    [overlaps],
  );
  return (
    <ReportTable
      caption="Overlap with other audiences"
      columns={columns}
      rows={overlaps}
      rowKey={({ audience_id }) => audience_id}
      searchText={({ name, audience_id }) => `${name} ${audience_id}`}
      noun="audience"
      file={file}
    />
  );
}
