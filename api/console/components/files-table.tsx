import { count } from '../../client/format.ts';
import type { ApiProblem } from '../../client/problem.ts';
import type { FileReport } from '../../client/types.ts';
import { isOpen } from '../../client/words.ts';
import { Age, EmptyState, Problem, Rejects, SkeletonRows, Status } from './basics.tsx';
import { type ListColumn, ListTable } from './list-table.tsx';

const notYet = <span class="quiet">–</span>;
/** Shown once the file has been read, when its counts are final. */
const counted = (file: FileReport, value: number | null) =>
  isOpen(file.status) || value === null ? notYet : count(value);

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
  { label: 'Rows', isNumber: true, cell: (file) => counted(file, file.rows) },
  { label: 'Accepted', isNumber: true, cell: (file) => counted(file, file.rows_accepted) },
  { label: 'Duplicates', isNumber: true, cell: (file) => counted(file, file.rows_duplicate) },
  {
    label: 'Rejected',
    cell: (file) => (isOpen(file.status) ? notYet : <Rejects rejected={file.rows_rejected} />),
  },
  { label: 'Updated', cell: ({ updated_at }) => <Age time={updated_at} /> },
];

interface Props {
  files: FileReport[] | undefined;
  /** No more files will come. */
  hasEnded: boolean;
  problem?: ApiProblem;
  retry: () => void;
}

export function FilesTable({ files, hasEnded, problem, retry }: Props) {
  if (problem && !files) return <Problem problem={problem} retry={retry} />;
  if (!files) return <SkeletonRows rows={2} />;
  if (files.length === 0 && hasEnded) return <p class="quiet">There are no files.</p>;
  if (files.length === 0)
    return <EmptyState title="No files yet">Files are listed when the job starts.</EmptyState>;
  return <ListTable caption="Files" columns={columns} rows={files} rowKey={(file) => file.s3_path} />;
}
