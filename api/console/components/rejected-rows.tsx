import { count } from '../../client/format.ts';
import type { RejectedRow } from '../../client/types.ts';
import { rejectExplanation, rejectReason } from '../../client/words.ts';
import type { Query } from '../query.ts';
import { QueryState } from './basics.tsx';
import { type ListColumn, ListTable } from './list-table.tsx';

export const rejectColumns: ListColumn<Pick<RejectedRow, 'raw' | 'line' | 'code'>>[] = [
  { label: 'Row', isName: true, cell: ({ raw }) => <code class="path">{raw}</code> },
  { label: 'Line', isNumber: true, cell: ({ line }) => count(line) },
  {
    label: 'Reason',
    cell: ({ code }) => <span title={`${code}: ${rejectExplanation(code)}`}>{rejectReason(code)}</span>,
  },
];
const columns: ListColumn<RejectedRow>[] = [
  ...rejectColumns,
  { label: 'File', cell: ({ file }) => <span class="path">{file}</span> },
];

export interface RejectsShown {
  rows: RejectedRow[];
  more: boolean;
}

interface Props {
  query: Query<RejectsShown>;
  /** More rows may be rejected until then. */
  hasEnded: boolean;
  download: string;
}

export function RejectedRows({ query, hasEnded, download }: Props) {
  const rejects = query.data;
  if (!rejects) return <QueryState query={query} rows={2} />;
  if (rejects.rows.length === 0)
    return <p class="quiet">{hasEnded ? 'No rows were rejected.' : 'None so far.'}</p>;
  return (
    <>
      <div class="table-tools">
        <a class="button" href={download} download="rejects.ndjson">
          Download rejected rows
        </a>
        {rejects.more && (
          <p class="quiet">Showing the first {count(rejects.rows.length)}; download for more.</p>
        )}
      </div>
      <ListTable
        caption="Rejected rows"
        columns={columns}
        rows={rejects.rows}
        step={20}
        rowKey={({ file, line, code }) => `${file} ${line} ${code}`}
      />
    </>
  );
}
