import type { ApiResponse } from '../../client/client.ts';
import { count } from '../../client/format.ts';
import type { FileReport } from '../../client/types.ts';
import { isOpen } from '../../client/words.ts';
import type { Query } from '../query.ts';
import { Age, counted, EmptyState, notYet, QueryState, Rejects, Status } from './basics.tsx';
import { type ListColumn, ListTable } from './list-table.tsx';

/** Shown once the file has been read, when its counts are final. */
const final = (file: FileReport, value: number | null) => counted(isOpen(file.status) ? null : value);

const columns: ListColumn<FileReport>[] = [
  { label: 'File', isName: true, cell: ({ s3_path }) => <span class="path">{s3_path}</span> },
  {
    label: 'Status',
    cell: ({ status, failure }) => (
      <>
        <Status status={status} />
        {failure && (
          <span class="failure">
            {failure.message} <code>{failure.code}</code>
            {failure.line !== undefined && ` Line ${count(failure.line)}.`}
          </span>
        )}
      </>
    ),
  },
  { label: 'Rows', isNumber: true, cell: (file) => final(file, file.rows) },
  { label: 'Accepted', isNumber: true, cell: (file) => final(file, file.rows_accepted) },
  { label: 'Duplicates', isNumber: true, cell: (file) => final(file, file.rows_duplicate) },
  {
    label: 'Rejected',
    cell: (file) => (isOpen(file.status) ? notYet : <Rejects rejected={file.rows_rejected} />),
  },
  { label: 'Updated', cell: ({ updated_at }) => <Age time={updated_at} /> },
];

interface Props {
  query: Query<ApiResponse<FileReport[]>>;
  /** No more files will come. */
  hasEnded: boolean;
}

export function FilesTable({ query, hasEnded }: Props) {
  const files = query.data?.data;
  if (!files) return <QueryState query={query} rows={2} />;
  if (files.length === 0 && hasEnded) return <p class="quiet">There are no files.</p>;
  if (files.length === 0)
    return <EmptyState title="No files yet">Files are listed when the job starts.</EmptyState>;
  return <ListTable caption="Files" columns={columns} rows={files} rowKey={(file) => file.s3_path} />;
}
