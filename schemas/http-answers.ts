/** HTTP answers. They are written by plain JSON.stringify; these say what they look like, and tests check them against it. */
import { z } from 'zod';
import { keyTypes, pathTypes, zeroOrOne } from './http.ts';
import { problemCodes } from './problems.ts';

const described = <S extends z.ZodType>(schema: S, description: string, example?: unknown): S =>
  schema.meta({ description, ...(example === undefined ? {} : { example }) });
const id = z.int().positive();
const count = z.int().nonnegative();
const countText = z.string().regex(/^\d+$/);
const time = z.iso.datetime().meta({ example: '2026-06-01T08:30:00.000Z' });
const created = described(time, 'UTC.', '2026-06-01T08:30:00.000Z');
const updated = described(time, 'When any field last changed, UTC.', '2026-06-01T08:31:12.000Z');
const statusOf = (what: string) =>
  z.literal([0, 1, 2, 3]).meta({
    description: `${what} 0: pending; 1: running; 2: done without errors; 3: error.`,
    type: 'integer',
    enum: [0, 1, 2, 3],
    example: 2,
  });
const fullPath = described(z.string(), 'Begins with your prefix.', 'p-tt6hkz9rv7bs/acme/summer/1.csv');

export const importLogError = z
  .strictObject({
    code: described(z.string(), 'Stable; the introduction lists them all.', 'too_many_invalid'),
    message: described(z.string(), 'For people.', 'More rows were rejected than the deployment allows.'),
    file: described(z.string(), 'The file, where one is meant.', 'p-tt6hkz9rv7bs/day/2.csv').optional(),
    line: described(z.int(), 'The line in it, where one is meant.', 17).optional(),
    count: described(z.int(), 'How many rows, where they were counted.', 940).optional(),
  })
  .meta({ id: 'ImportLogError' });

export const importLog = z
  .strictObject({
    import_log_id: described(id, 'Grows in the order in which jobs were accepted.', 42),
    file_path: described(z.string(), 'As submitted; empty for a deletion.', 'day=2026-06-01/devices.csv'),
    path_type: z.literal([0, 1]).meta({ ...zeroOrOne, description: pathTypes, example: 0 }),
    key_type: z.literal([0, 1]).meta({ ...zeroOrOne, description: keyTypes, example: 0 }),
    status: statusOf('Of the job.'),
    log_type: z
      .literal([0, 1])
      .meta({ ...zeroOrOne, description: '0: import; 1: deletion of attribute data.', example: 0 }),
    keys: described(z.array(z.string()).nullable(), 'The submitted keys of a deletion, otherwise null.'),
    unique_devices: described(
      countText,
      'Distinct devices accepted by this job, over all of its files; for a deletion, devices that lost data. A number, as text.',
      '16000',
    ),
    total_rows: described(
      countText,
      'Data rows read, accepted and rejected; for a deletion, device-attribute pairs removed. A number, as text.',
      '20000',
    ),
    errors: described(z.array(importLogError).nullable(), 'Why, when status is 3; otherwise null.'),
    created_at: created,
    updated_at: updated,
  })
  .meta({ id: 'ImportLog' });

export const importLogId = z
  .strictObject({ import_log_id: described(id, 'To follow the job with.', 42) })
  .meta({ id: 'ImportLogId' });

const segment = described(
  id,
  'For the deep link to the audience composition report in the console.',
  10_000_042,
);
const audienceFields = {
  audience_id: described(id, 'Grows in the order of creation.', 42),
  name: described(z.string(), 'As given on creation.', 'Summer visitors'),
  unique_devices: described(count, 'Distinct devices in the audience now.', 5_000),
  default_warehouse_segment_id: segment,
  status: statusOf('Of all loads together: 1 if any file runs, else 0 if any waits.'),
  created_at: created,
  updated_at: updated,
  uploaded_devices: described(
    count,
    'Accepted rows of all files of the audience, duplicates included.',
    5_200,
  ),
  matched_devices: described(
    count,
    'Devices of the audience that a marketplace attribute also holds, as of the last load.',
    4_100,
  ),
};
export const audience = z.strictObject(audienceFields).meta({ id: 'Audience' });

export const fileEntry = z
  .strictObject({
    s3_path: fullPath,
    status: statusOf('Of this file.'),
    rows_uploaded: described(count, 'Accepted rows, duplicates included; 0 if the file failed.', 2_600),
    updated_at: updated,
  })
  .meta({ id: 'FileEntry' });
export const audienceDetails = z
  .strictObject({
    ...audienceFields,
    file: described(z.array(fileEntry), 'The files, by path. Empty after a clear.'),
  })
  .meta({ id: 'AudienceDetails' });
export const audienceIds = z
  .strictObject({ audience_id: audienceFields.audience_id, default_warehouse_segment_id: segment })
  .meta({ id: 'AudienceIds' });

export const fileReport = z
  .strictObject({
    ...fileEntry.shape,
    rows: described(count, 'Data rows read.', 2_610),
    rows_accepted: described(count, 'Rows read and found good, also of a file that failed.', 2_600),
    rows_duplicate: described(count.nullable(), 'Accepted rows that added nothing; null until known.', 200),
    rows_rejected: described(z.record(z.string(), count), 'Rejected rows by reason.', {
      bad_identifier: 8,
      opted_out: 2,
    }),
    failure: described(
      importLogError.omit({ file: true }).nullable(),
      'Why nothing of this file was loaded; otherwise null.',
    ),
  })
  .meta({ id: 'FileReport' });

const loadFields = {
  load_id: described(id, 'Grows in the order in which loads were accepted.', 57),
  file_path: described(z.string(), 'As submitted.', 'acme/summer/day-2/'),
  status: statusOf('Of the load.'),
  files: described(count, 'Files that the path matched and that were not loaded before.', 2),
  files_done: described(count, 'Those of them that are decided.', 2),
  unique_devices: described(count, 'Distinct devices accepted by this load, over all of its files.', 4_800),
  total_rows: described(count, 'Data rows read, accepted and rejected.', 5_210),
  errors: described(
    z.array(importLogError).nullable(),
    'Why, when status is 3; otherwise null. A load that a clear has cancelled says `cancelled`.',
  ),
  created_at: created,
  updated_at: updated,
};
export const audienceLoad = z.strictObject(loadFields).meta({ id: 'AudienceLoad' });
export const audienceLoadDetails = z
  .strictObject({
    ...loadFields,
    file: described(z.array(fileReport), 'The files of this load. Empty until it runs.'),
  })
  .meta({ id: 'AudienceLoadDetails' });

export const rejectedRow = z
  .strictObject({
    file: fullPath,
    line: described(z.int().positive(), 'Counted from 1, headers and blank lines included.', 17),
    code: described(z.string(), 'Stable; the introduction lists them all.', 'bad_identifier'),
    raw: described(z.string(), 'The row as it is in the file, cut at 200 bytes.', 'not-a-device,17'),
  })
  .meta({ id: 'RejectedRow', description: 'One line of the NDJSON answer.' });

export const problem = z
  .object({
    type: described(z.string(), 'A name for the kind of problem: `urn:headrace:problem:` and the code.'),
    title: described(z.string(), 'The kind of problem, for people.'),
    status: described(z.int(), 'The HTTP status.'),
    detail: described(z.string(), 'What was wrong this time, for people.'),
    code: described(z.enum(problemCodes), 'Stable: switch on this, not on the texts.'),
    instance: described(z.string(), 'The request id, as in `X-Request-Id`: tell us this one.').optional(),
    errors: z
      .array(
        z.strictObject({
          path: described(z.string(), 'Where: `credentials.region`, `keys.3`.'),
          message: described(z.string(), 'What is wrong there.'),
        }),
      )
      .optional()
      .meta({ description: 'One entry for each rule that a body or a query breaks.' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457, `application/problem+json`.' });
