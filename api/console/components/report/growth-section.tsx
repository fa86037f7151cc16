import { useMemo } from 'preact/hooks';
import { count, shortTime } from '../../../client/format.ts';
import type { Load } from '../../../client/types.ts';
import { saveCsv } from '../../csv.ts';
import { totalRejects } from '../../funnel.ts';
import { growthOf, repeatedDevices } from '../../growth.ts';
import { Age, CsvButton, counted, notYet, Rejects, SkeletonRows, Status } from '../basics.tsx';
import { type ListColumn, ListTable } from '../list-table.tsx';
import { GrowthChart } from './growth-chart.tsx';

/** File paths and error messages are shown to the partner only. */
const columnsFor = (showsPaths: boolean): ListColumn<Load>[] => [
  {
    label: 'Load',
    isName: true,
    cell: ({ load_id, file_path }) => (
      <>
        <span class="numbers">Load {load_id}</span>{' '}
        {showsPaths && <span class="path quiet screen-only">{file_path}</span>}
      </>
    ),
  },
  {
    label: 'Status',
    cell: ({ status, cleared, errors }) => (
      <>
        <Status status={status} /> {cleared && <span class="tag">cleared</span>}
        {showsPaths &&
          errors?.map(({ code, message }) => (
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
    cell: ({ rows_rejected }) => (rows_rejected ? <Rejects rejected={rows_rejected} /> : notYet),
  },
  { label: 'Total after load', isNumber: true, cell: ({ audience_devices }) => counted(audience_devices) },
  {
    label: 'When',
    cell: ({ updated_at }) => (
      <>
        <span class="screen-only">
          <Age time={updated_at} />
        </span>
        <span class="print-only">{shortTime(updated_at)}</span>
      </>
    ),
  },
];

const saveLoads = (file: string, loads: Load[]) =>
  saveCsv(
    file,
    ['Load', 'New', 'Already in audience', 'Rejected rows', 'Total after load', 'Ended'],
    loads.map((load) => [
      load.load_id,
      load.new_devices,
      repeatedDevices(load),
      load.rows_rejected && totalRejects(load.rows_rejected),
      load.audience_devices,
      load.updated_at,
    ]),
  );

interface Props {
  loads: Load[] | undefined;
  hasMore: boolean;
  showsPaths: boolean;
  /** The name of the CSV file. */
  file: string;
}

export function GrowthSection({ loads, hasMore, showsPaths, file }: Props) {
  const points = useMemo(() => growthOf(loads ?? []), [loads]);
  const columns = useMemo(() => columnsFor(showsPaths), [showsPaths]);
  return (
    <section>
      <h2>Growth by load</h2>
      <p class="quiet">New devices, devices already in the audience, and rejected rows of each load.</p>
      {!loads && <SkeletonRows rows={3} />}
      {points.length > 1 && <GrowthChart points={points} />}
      {loads && (
        <>
          <div class="table-tools">
            <CsvButton caption="Growth by load" onClick={() => saveLoads(file, loads)} />
          </div>
          <ListTable
            caption="Growth by load"
            columns={columns}
            rows={loads}
            rowKey={(load) => load.load_id}
          />
        </>
      )}
      {hasMore && <p class="quiet">The newest {count(loads?.length ?? 0)} loads are shown.</p>}
    </section>
  );
}
