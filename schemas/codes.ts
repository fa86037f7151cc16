/** Every reason for which a row, a file or a job can fail. A published code keeps its meaning. */

/** Why one row was not accepted. */
export const rejectCodes = {
  bad_identifier: 'The first column is not a device identifier (32 hex digits in 8-4-4-4-12 form).',
  opted_out: 'The identifier is all zeros: the user has opted out. Such rows do not count as invalid.',
  bad_quotes: 'A quoted field is not closed, or text follows its closing quote.',
  missing_key: 'The row has no key.',
  unknown_key: 'The row has a key that is not one of yours.',
  event_too_long: 'The event is longer than 256 bytes.',
} as const;
export type RejectCode = keyof typeof rejectCodes;

/** Why a whole file was not loaded. Nothing of such a file is merged. */
export const fileFailureCodes = {
  column_count: 'A row of an audience file does not have exactly two columns.',
  too_many_invalid: 'The share of invalid rows is above the limit.',
  empty_file: 'The file has no data row.',
  bad_gzip: 'The file is not gzip, or its gzip data is corrupt or truncated.',
  gzip_ratio: 'The compression ratio is above the limit.',
  not_text: 'The file is not UTF-8 text.',
  line_too_long: 'A line is longer than 64 KiB.',
  changed: 'The file changed while it was being read.',
  missing: 'The file was deleted before it could be read.',
  access_denied: 'The storage denied access to the file.',
  storage_unavailable: 'The storage did not deliver the file in time.',
  storage_too_slow: 'The storage delivered the file more slowly than the minimum rate.',
  cancelled: 'The audience was cleared while the file was pending or loading.',
  ledger_mismatch: 'The row counts do not add up; the file was not loaded.',
  internal_error: 'The service failed to process the file; the operator’s log has the cause.',
  dropped: 'The operator ended the job while it was being merged; its error says what is stored.',
} as const;
export type FileFailureCode = keyof typeof fileFailureCodes;

/** Why a whole job ended with status 3 (in addition to failures of its files). */
export const jobFailureCodes = {
  no_files: 'No object matches the path.',
  compressed_required:
    'The path is a prefix, so `compressed` is required: true, false, or auto for each file by its extension.',
  access_denied: 'The storage denied access with these credentials.',
  no_such_bucket: 'The bucket does not exist.',
  wrong_region: 'The bucket is in a different region.',
  bad_credentials: 'The storage rejected these credentials.',
  storage_unavailable: 'The storage did not respond in time.',
  quota_exceeded: 'The job is over the quota of bytes or rows for its day; nothing was loaded.',
  too_many_files: 'More files match the path than the limit allows.',
  too_many_rows: 'The files have more rows than one job may load; nothing was loaded.',
  too_many_attributes:
    'The job may change more attributes at once than the limit allows; nothing was loaded.',
  ledger_mismatch: 'Devices were lost in processing, in every attempt; nothing was loaded.',
  internal_error: 'The service failed to process the job; the operator’s log has the cause.',
  cancelled: 'The job was cancelled, or its audience was cleared.',
  dropped: 'The operator ended the job while it was being merged; the message says what is stored.',
} as const;
export type JobFailureCode = keyof typeof jobFailureCodes;
