import { count, plural } from '../../../client/format.ts';
import type { DryRun } from '../../../client/types.ts';
import { rejectExplanation, rejectReason } from '../../../client/words.ts';
import { Errors, Rejects } from '../basics.tsx';
import { type ListColumn, ListTable } from '../list-table.tsx';

type Example = DryRun['file'][number]['examples'][number];

const columns: ListColumn<Example>[] = [
  { label: 'Row', isName: true, cell: ({ raw }) => <code class="path">{raw}</code> },
  { label: 'Line', isNumber: true, cell: ({ line }) => count(line) },
  {
    label: 'Reason',
    cell: ({ code }) => <span title={`${code}: ${rejectExplanation(code)}`}>{rejectReason(code)}</span>,
  },
];

/** Rejected rows by reason, over all files. */
function rejectedOf({ file }: DryRun): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { rows_rejected } of file)
    for (const [code, rows] of Object.entries(rows_rejected)) sums[code] = (sums[code] ?? 0) + rows;
  return sums;
}

/** What a load would do. */
export function DryRunResult({ run }: { run: DryRun }) {
  const examples = run.file.flatMap((each) => each.examples);
  const errors = [
    ...(run.errors ?? []),
    ...run.file.flatMap(({ s3_path, failure }) => (failure ? [{ ...failure, file: s3_path }] : [])),
  ];
  return (
    <>
      {run.status === 3 && <Errors title="Why it would fail" errors={errors} />}
      <dl class="facts">
        <dt>Rows read</dt>
        <dd class="numbers">{count(run.total_rows)}</dd>
        <dt>Would be loaded</dt>
        <dd class="numbers">{count(run.rows_accepted)}</dd>
        <dt>Would be rejected</dt>
        <dd>
          <Rejects rejected={rejectedOf(run)} />
        </dd>
      </dl>
      {run.complete === false && (
        <p class="quiet">
          A dry run reads the beginning of a large file. These are the counts of the first{' '}
          {plural(run.total_rows, 'row')}.
        </p>
      )}
      {examples.length > 0 && (
        <>
          <h3>Sample of rejected rows</h3>
          <ListTable
            caption="Sample of rejected rows"
            columns={columns}
            rows={examples}
            rowKey={({ line, code }) => `${line} ${code}`}
          />
        </>
      )}
    </>
  );
}
