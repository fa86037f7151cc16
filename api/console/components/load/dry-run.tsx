import { count, plural } from '../../../client/format.ts';
import type { DryRun } from '../../../client/types.ts';
import { sumRejects } from '../../funnel.ts';
import { Errors, Rejects } from '../basics.tsx';
import { ListTable } from '../list-table.tsx';
import { rejectColumns } from '../rejected-rows.tsx';

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
          <Rejects rejected={sumRejects(run.file.map((each) => each.rows_rejected))} />
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
            columns={rejectColumns}
            rows={examples}
            rowKey={({ line, code }) => `${line} ${code}`}
          />
        </>
      )}
    </>
  );
}
