import { useMemo } from 'preact/hooks';
import { count } from '../../../client/format.ts';
import type { Load } from '../../../client/types.ts';
import { growthOf, repeatedDevices } from '../../growth.ts';
import { Age, Rejects, SkeletonRows, Status } from '../basics.tsx';
import { type ListColumn, ListTable } from '../list-table.tsx';
import { GrowthChart } from './growth-chart.tsx';

const counted = (value: number | null) => (value === null ? <span class="quiet">–</span> : count(value));

const columns: ListColumn<Load>[] = [
  {
    label: 'Load',
    isName: true,
    cell: ({ load_id, file_path }) => (
      <>
        <span class="quiet numbers">{load_id}</span> <span class="path">{file_path}</span>
      </>
    ),
  },
  {
    label: 'Status',
    cell: ({ status, errors }) => (
      <>
        <Status status={status} />
        {errors?.map(({ code, message }) => (
          <span class="failure" key={`${code}${message}`}>
            {message} <code>{code}</code>
          </span>
        ))}
      </>
    ),
  },
  { label: 'New', isNumber: true, cell: ({ new_devices }) => counted(new_devices) },
  { label: 'Already in audience', isNumber: true, cell: (load) => counted(repeatedDevices(load)) },
  {
    label: 'Rejected rows',
    cell: ({ rows_rejected }) => (rows_rejected ? <Rejects rejected={rows_rejected} /> : counted(null)),
  },
  { label: 'Total after load', isNumber: true, cell: ({ audience_devices }) => counted(audience_devices) },
  { label: 'When', cell: ({ updated_at }) => <Age time={updated_at} /> },
];

export function GrowthSection({ loads, hasMore }: { loads: Load[] | undefined; hasMore: boolean }) {
  const points = useMemo(() => growthOf(loads ?? []), [loads]);
  return (
    <section>
      <h2>Growth by load</h2>
      <p class="quiet">New devices, devices already in the audience, and rejected rows of each load.</p>
      {!loads && <SkeletonRows rows={3} />}
      {points.length > 1 && <GrowthChart points={points} />}
      {loads && (
        <ListTable caption="Growth by load" columns={columns} rows={loads} rowKey={(load) => load.load_id} />
      )}
      {hasMore && <p class="quiet">The newest {count(loads?.length ?? 0)} loads are shown.</p>}
    </section>
  );
}
