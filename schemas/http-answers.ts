/** HTTP responses. They are written with JSON.stringify; these schemas describe them, and tests validate against them. */
import { z } from 'zod';
import { keyTypes, pathTypes, visibility, zeroOrOne } from './http.ts';
import { problemCodes } from './problems.ts';

export const described = <S extends z.ZodType>(schema: S, description: string, example?: unknown): S =>
  schema.meta({ description, ...(example === undefined ? {} : { example }) });
export const id = z.int().positive();
export const count = z.int().nonnegative();
const countText = z.string().regex(/^\d+$/);
/** The same form in every record. */
const rejectedByCode = z.record(z.string(), count);
const rejectedExample = { bad_identifier: 8, opted_out: 2 };
export const time = z.iso.datetime().meta({ example: '2026-06-01T08:30:00.000Z' });
export const created = described(time, 'Time of creation, in UTC.', '2026-06-01T08:30:00.000Z');
export const updated = described(time, 'Time of the last change, in UTC.', '2026-06-01T08:31:12.000Z');
export const statusOf = (what: string) =>
  z.literal([0, 1, 2, 3]).meta({
    description: `${what} 0: pending; 1: running; 2: done; 3: error.`,
    type: 'integer',
    enum: [0, 1, 2, 3],
    example: 2,
  });
export const fullPath = described(
  z.string(),
  'The full path, including your prefix.',
  'p-tt6hkz9rv7bs/acme/summer/1.csv',
);

export const prefixMatches = described(
  z.array(z.string()),
  'If `file_path` is a prefix that does not end in `/`: the names that start with it, up to the next `/`, at most 20. `day` matches both `day/` and `day2/`; end the path with `/` to load only one of them. Otherwise, and until the files are listed, empty.',
  [],
);

export const importLogError = z
  .strictObject({
    code: described(z.string(), 'A stable code; the introduction lists them all.', 'too_many_invalid'),
    message: described(
      z.string(),
      'A human-readable explanation.',
      'The share of invalid rows is above the limit.',
    ),
    file: described(
      z.string(),
      'The file, if the error concerns one.',
      'p-tt6hkz9rv7bs/day/2.csv',
    ).optional(),
    line: described(z.int(), 'The line in that file, if the error concerns one.', 17).optional(),
    count: described(z.int(), 'The number of rows or files concerned, if known.', 940).optional(),
  })
  .meta({ id: 'ImportLogError' });

const suppressedDevices =
  'Distinct devices excluded because a privacy request suppressed them; null until the job has ended. Their rows count as valid, not as rejected.';

export const importLog = z
  .strictObject({
    import_log_id: described(id, 'Ids increase in the order in which jobs are accepted.', 42),
    file_path: described(z.string(), 'As submitted; empty for a deletion.', 'day=2026-06-01/devices.csv'),
    prefix_matches: prefixMatches,
    path_type: z.literal([0, 1]).meta({ ...zeroOrOne, description: pathTypes, example: 0 }),
    key_type: z.literal([0, 1]).meta({ ...zeroOrOne, description: keyTypes, example: 0 }),
    status: statusOf('The status of the job.'),
    log_type: z
      .literal([0, 1])
      .meta({ ...zeroOrOne, description: '0: import; 1: deletion of attribute data.', example: 0 }),
    keys: described(z.array(z.string()).nullable(), 'The keys of a deletion, as submitted; otherwise null.'),
    unique_devices: described(
      countText,
      'The number of distinct devices accepted from all files of this job; for a deletion, of devices that had data removed. A number as a string.',
      '16000',
    ),
    total_rows: described(
      countText,
      'The number of data rows read, accepted and rejected; for a deletion, of device-attribute pairs removed. A number as a string.',
      '20000',
    ),
    rows_rejected: described(
      rejectedByCode.nullable(),
      'The number of rejected rows by code, also when status is 2; null until the job has ended.',
      rejectedExample,
    ),
    suppressed: described(count.nullable(), suppressedDevices, 0),
    errors: described(
      z.array(importLogError).nullable(),
      'Why the job failed, when status is 3; otherwise null.',
    ),
    created_at: created,
    updated_at: updated,
  })
  .meta({ id: 'ImportLog' });

export const importLogId = z
  .strictObject({ import_log_id: described(id, 'The id of the job. Poll the import log with it.', 42) })
  .meta({ id: 'ImportLogId' });

export const attribute = z
  .strictObject({
    attribute_id: described(id, 'Assigned by the service; the key of rows with key_type 0.', 17),
    name: described(z.string(), 'Its display name.', 'Sports fans'),
    partner_foreign_key: described(
      z.string().nullable(),
      'Your own key for it, the key of rows with key_type 1; null if none is associated.',
      'sports',
    ),
    visibility,
    devices: described(count, 'The number of distinct devices that have the attribute.', 16_000),
    created_at: created,
  })
  .meta({ id: 'Attribute' });

const segment = described(
  id,
  'The segment id in the link to the audience composition report in the console.',
  10_000_042,
);
const audienceFields = {
  audience_id: described(id, 'Ids increase in the order of creation.', 42),
  name: described(z.string(), 'The name given at creation.', 'Summer visitors'),
  unique_devices: described(count, 'The number of distinct devices in the audience.', 5_000),
  default_warehouse_segment_id: segment,
  status: statusOf('The combined status of all loads: 1 if any is running, else 0 if any is pending.'),
  created_at: created,
  updated_at: updated,
  uploaded_devices: described(
    count,
    'The number of accepted rows in all files of the audience, including duplicates.',
    5_200,
  ),
  matched_devices: described(
    count,
    'The number of devices of the audience that have a marketplace attribute, as of `matched_at`. 0 if it is below the privacy floor.',
    4_100,
  ),
  matched_at: described(
    time.nullable(),
    'When `matched_devices` was counted; null if nothing is loaded.',
    '2026-06-01T08:31:12.000Z',
  ),
  matched_by: described(
    z.enum(['load', 'report']),
    '`load`: each device was matched when it was loaded, so later marketplace imports and deletions do not show. `report`: a composition report has counted all devices; its number and this one are the same.',
    'report',
  ),
  rows_rejected: described(
    rejectedByCode,
    'The number of rejected rows by code, in all files of the audience.',
    rejectedExample,
  ),
  generation: described(id, 'Starts at 1 and increases with each clear; loads carry it, too.', 1),
  cleared_at: described(time.nullable(), 'When the audience was last cleared; null if it never was.', null),
};
export const audience = z.strictObject(audienceFields).meta({ id: 'Audience' });

const fileEntry = z
  .strictObject({
    s3_path: fullPath,
    status: statusOf('The status of this file.'),
    rows_uploaded: described(count, 'Accepted rows, including duplicates; 0 if the file failed.', 2_600),
    updated_at: updated,
  })
  .meta({ id: 'FileEntry' });
export const audienceDetails = z
  .strictObject({
    ...audienceFields,
    file: described(z.array(fileEntry), 'The files, ordered by path. Empty after a clear.'),
  })
  .meta({ id: 'AudienceDetails' });
export const audienceIds = z
  .strictObject({ audience_id: audienceFields.audience_id, default_warehouse_segment_id: segment })
  .meta({ id: 'AudienceIds' });

export const reportLink = z
  .strictObject({
    url: described(
      z.string(),
      'The link. Without a host if `HEADRACE_PUBLIC_URL` is not set.',
      'https://import.example.com/console/segments/10000042?share=Ar0Xk2',
    ),
    expires_at: described(time, 'When it expires, in UTC.', '2026-06-08T08:30:00.000Z'),
  })
  .meta({ id: 'ReportLink' });

export const fileReport = z
  .strictObject({
    ...fileEntry.shape,
    rows: described(count, 'Data rows read.', 2_610),
    rows_accepted: described(count, 'Valid rows, even if the file failed.', 2_600),
    rows_duplicate: described(
      count.nullable(),
      'Accepted rows that are duplicates; null until the job has ended.',
      200,
    ),
    rows_rejected: described(rejectedByCode, 'The number of rejected rows by code.', rejectedExample),
    suppressed: described(count.nullable(), suppressedDevices, 0),
    failure: described(
      importLogError.omit({ file: true }).nullable(),
      'Why the file was not loaded; otherwise null.',
    ),
  })
  .meta({ id: 'FileReport' });

const loadFields = {
  load_id: described(id, 'Ids increase in the order in which loads are accepted.', 57),
  file_path: described(z.string(), 'As submitted.', 'acme/summer/day-2/'),
  prefix_matches: prefixMatches,
  generation: described(id, 'The generation of the audience that it belongs to.', 1),
  cleared: described(
    z.boolean(),
    'Whether the audience was cleared after the load was accepted: none of its devices are in the audience.',
    false,
  ),
  status: statusOf('The status of the load.'),
  files: described(count, 'The number of files that match the path and were not loaded before.', 2),
  files_done: described(count, 'The number of these files that have been processed.', 2),
  unique_devices: described(
    count,
    'The number of distinct devices accepted from all files of this load.',
    4_800,
  ),
  total_rows: described(count, 'The number of data rows read, accepted and rejected.', 5_210),
  rows_accepted: described(
    count.nullable(),
    'Valid rows, also those of files that failed; null until the load has ended.',
    5_200,
  ),
  rows_rejected: described(
    rejectedByCode.nullable(),
    'The number of rejected rows by code; null until the load has ended.',
    rejectedExample,
  ),
  suppressed: described(count.nullable(), suppressedDevices, 0),
  new_devices: described(
    count.nullable(),
    'How many of `unique_devices` were not in the audience before this load; null until the load has ended.',
    3_000,
  ),
  audience_devices: described(
    count.nullable(),
    'The number of distinct devices in the audience right after this load; null until the load has ended, and if it was cancelled.',
    5_000,
  ),
  errors: described(
    z.array(importLogError).nullable(),
    'Why the load failed, when status is 3; otherwise null. If a clear cancelled the load, the code is `cancelled`.',
  ),
  created_at: created,
  updated_at: updated,
};
export const audienceLoad = z.strictObject(loadFields).meta({ id: 'AudienceLoad' });
export const audienceLoadDetails = z
  .strictObject({
    ...loadFields,
    file: described(z.array(fileReport), 'The files of this load. Empty until it is running.'),
  })
  .meta({ id: 'AudienceLoadDetails' });

export const rejectedRow = z
  .strictObject({
    file: fullPath,
    line: described(z.int().positive(), 'The line number, from 1, counting headers and blank lines.', 17),
    code: described(z.string(), 'A stable code; the introduction lists them all.', 'bad_identifier'),
    raw: described(z.string(), 'The row as in the file, or at most its first 200 bytes.', 'not-a-device,17'),
    truncated: described(z.literal(true), 'Present if the row is longer than `raw`.').optional(),
    omitted: described(
      count,
      'In the last row of a file if some rejected rows are not stored: their number.',
    ).optional(),
  })
  .meta({ id: 'RejectedRow', description: 'One line of the NDJSON response.' });
export const rejectedRowOfLoad = rejectedRow
  .extend({ load_id: described(id, 'The load that the row was part of.', 57) })
  .meta({ id: 'RejectedRowOfLoad', description: 'One line of the NDJSON response.' });

export const problem = z
  .object({
    type: described(z.string(), 'The problem type: `urn:headrace:problem:` followed by the code.'),
    title: described(z.string(), 'A human-readable summary of the problem type.'),
    status: described(z.int(), 'The HTTP status.'),
    detail: described(z.string(), 'A human-readable explanation of this occurrence.'),
    code: described(z.enum(problemCodes), 'Stable. Programs should switch on this, not on the texts.'),
    instance: described(
      z.string(),
      'The request id, as in `X-Request-Id`. Quote it when you report a problem.',
    ).optional(),
    errors: z
      .array(
        z.strictObject({
          path: described(z.string(), 'The field, such as `credentials.region` or `keys.3`.'),
          message: described(z.string(), 'What is wrong with it.'),
        }),
      )
      .optional()
      .meta({ description: 'One entry for each invalid field or query parameter.' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457, `application/problem+json`.' });
