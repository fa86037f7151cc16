import { useMemo } from 'preact/hooks';
import { count } from '../../../client/format.ts';
import type { Composition } from '../../../client/types.ts';
import { eventName } from '../../../client/words.ts';
import { hrefWith } from '../../router.ts';
import { type Column, VirtualTable } from '../virtual-table.tsx';
import { CountCell, IndexCell, ShareCell } from './cells.tsx';

type Attribute = Composition['attributes'][number];
type Event = Composition['events'][number];
type Overlap = Composition['overlaps'][number];

const largestOf = (shares: number[]) => shares.reduce((max, share) => Math.max(max, share), 0);

export function AttributesTable({ attributes }: Pick<Composition, 'attributes'>) {
  const columns = useMemo((): Column<Attribute>[] => {
    const largest = largestOf(attributes.map(({ share }) => share));
    return [
      {
        id: 'name',
        label: 'Attribute',
        cell: ({ name, attribute_id, owner, visibility }) => (
          <span class="named">
            <span class="clamp" title={`${name} (attribute ${attribute_id})`}>
              {name}
            </span>
            {visibility === 'private' && (
              <span class="tag" title="Visible only to its owner">
                private
              </span>
            )}
            <span class="owner-line">
              {visibility === 'private' && 'private, '}
              {owner}
            </span>
          </span>
        ),
        sortBy: ({ name }) => name,
      },
      {
        id: 'owner',
        label: 'Owner',
        hint: 'The partner that the attribute belongs to',
        cell: ({ owner }) => (
          <span class="clamp" title={owner}>
            {owner}
          </span>
        ),
        sortBy: ({ owner }) => owner,
      },
      {
        id: 'devices',
        label: 'Devices',
        isNumber: true,
        cell: ({ devices }) => count(devices),
        sortBy: ({ devices }) => devices,
      },
      {
        id: 'share',
        label: 'Share',
        isNumber: true,
        hint: 'Of the unique devices of this audience',
        cell: ({ share }) => <ShareCell share={share} largest={largest} />,
        sortBy: ({ share }) => share,
      },
      {
        id: 'index',
        label: 'Index',
        isNumber: true,
        hint: '100: as common as among all marketplace devices; 200: twice as common',
        cell: ({ index }) => <IndexCell index={index} />,
        sortBy: ({ index }) => index,
      },
    ];
  }, [attributes]);
  return (
    <VirtualTable
      caption="Composition by attribute"
      columns={columns}
      rows={attributes}
      rowKey={({ attribute_id }) => attribute_id}
      searchText={({ name, attribute_id, owner }) => `${name} ${attribute_id} ${owner}`}
      noun="attribute"
    />
  );
}

export function EventsTable({ report: { events, floor } }: { report: Composition }) {
  const columns: Column<Event>[] = [
    {
      id: 'name',
      label: 'Event',
      cell: ({ event }) => (
        <span class="clamp" title={eventName(event)}>
          {eventName(event)}
        </span>
      ),
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
  ];
  return (
    <VirtualTable
      caption="Events"
      columns={columns}
      rows={events}
      rowKey={({ event }) => event}
      searchText={({ event }) => eventName(event)}
      noun="event"
    />
  );
}

export function OverlapsTable({ overlaps }: Pick<Composition, 'overlaps'>) {
  const columns = useMemo((): Column<Overlap>[] => {
    const largest = largestOf(overlaps.map(({ share_of_this }) => share_of_this));
    const largestOther = largestOf(overlaps.map(({ share_of_other }) => share_of_other));
    return [
      {
        id: 'name',
        label: 'Audience',
        cell: ({ name }) => (
          <a class="clamp" href={hrefWith('/console/audiences', { search: name })} title={name}>
            {name}
          </a>
        ),
        sortBy: ({ name }) => name,
      },
      {
        id: 'devices',
        label: 'Devices',
        isNumber: true,
        hint: 'Devices that are in both audiences',
        cell: ({ devices }) => count(devices),
        sortBy: ({ devices }) => devices,
      },
      {
        id: 'share',
        label: 'Of this audience',
        isNumber: true,
        cell: ({ share_of_this: share }) => <ShareCell share={share} largest={largest} />,
        sortBy: ({ share_of_this: share }) => share,
      },
      {
        id: 'share-other',
        label: 'Of the other',
        isNumber: true,
        cell: ({ share_of_other: share }) => <ShareCell share={share} largest={largestOther} />,
        sortBy: ({ share_of_other: share }) => share,
      },
    ];
  }, [overlaps]);
  return (
    <VirtualTable
      caption="Overlap with other audiences"
      columns={columns}
      rows={overlaps}
      rowKey={({ audience_id }) => audience_id}
      searchText={({ name, audience_id }) => `${name} ${audience_id}`}
      noun="audience"
    />
  );
}
