/** HTTP responses of dry runs. */
import { z } from 'zod';
import {
  count,
  created,
  described,
  fullPath,
  id,
  importLogError,
  prefixMatches,
  rejectedRow,
  statusOf,
  updated,
} from './http-answers.ts';

export const dryRunId = z
  .strictObject({ dry_run_id: described(id, 'The id of the dry run. Poll it with it.', 3) })
  .meta({ id: 'DryRunId' });

const dryFile = z.strictObject({
  s3_path: fullPath,
  complete: described(z.boolean(), 'False if only the beginning of the file was read.', true),
  rows: described(count, 'Data rows read.', 2_610),
  rows_accepted: described(count, 'Valid rows, even if the file would fail.', 2_600),
  rows_rejected: described(z.record(z.string(), count), 'The number of rejected rows by code.', {
    bad_identifier: 10,
  }),
  failure: described(
    importLogError.omit({ file: true }).nullable(),
    'Why the file would not be loaded; otherwise null.',
  ),
  examples: described(z.array(rejectedRow.omit({ file: true, omitted: true })), 'Some of the rejected rows.'),
});
export const dryRun = z
  .strictObject({
    dry_run_id: described(id, 'The id of the dry run.', 3),
    file_path: described(z.string(), 'As submitted.', 'day=2026-06-01/'),
    status: statusOf('2 if a load would end as done, 3 if not.'),
    complete: described(
      z.boolean().nullable(),
      'Whether all files were read to their end: a dry run has a limit. Null until it has ended.',
      true,
    ),
    files: described(count, 'The number of files that match the path.', 2),
    prefix_matches: prefixMatches,
    files_read: described(count, 'The number of files that were read.', 2),
    total_rows: described(count, 'Data rows read.', 5_210),
    rows_accepted: described(count, 'Valid rows of the files that would be loaded.', 5_200),
    errors: described(
      z.array(importLogError).nullable(),
      'Why the load would fail as a whole; otherwise null.',
    ),
    file: described(z.array(dryFile), 'The files that were read.'),
    created_at: created,
    updated_at: updated,
  })
  .meta({ id: 'DryRun' });
