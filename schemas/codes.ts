/** Every reason for which a row, a file or a job can fail. A code, once given, keeps its meaning. */

/** Why one row was not accepted. */
export const rejectCodes = {
  bad_identifier: 'The first column is not 32 hex digits in 8-4-4-4-12 form.',
  opted_out: 'The identifier is all zeros: the user opted out. Does not count against the file.',
  bad_quotes: 'A quoted field is not closed, or text follows its closing quote.',
  missing_key: 'The row names no key.',
  unknown_key: 'A key of the row is not one of the partner’s.',
  event_too_long: 'The event is longer than 256 bytes.',
} as const;
export type RejectCode = keyof typeof rejectCodes;
export const rejectCodeList = Object.keys(rejectCodes) as RejectCode[];

/** Why a whole file was not loaded. Nothing of such a file is merged. */
export const fileFailureCodes = {
  column_count: 'A row of an audience file does not have exactly two columns.',
  too_many_invalid: 'More rows were rejected than the deployment allows.',
  empty_file: 'The file has no data row.',
  bad_gzip: 'The file should be gzip and is not, or its gzip data is damaged or cut short.',
  gzip_ratio: 'The file unpacks to far more than any list of identifiers would.',
  not_text: 'The file is not UTF-8 text.',
  line_too_long: 'A line is longer than 64 KiB.',
  changed: 'The file changed while it was being read.',
  missing: 'The file was removed before it could be read.',
  access_denied: 'The storage refused access to the file.',
  storage_unavailable: 'The storage gave no usable answer for the file in time.',
  cancelled: 'The audience was cleared while the file was waiting or loading.',
  ledger_mismatch: 'The rows counted do not add up; the file was not merged.',
  internal_error: 'The service could not process the file; the operator’s log says why.',
} as const;
export type FileFailureCode = keyof typeof fileFailureCodes;

/** Why a job as a whole ended with status 3 (beside the failures of its files). */
export const jobFailureCodes = {
  no_files: 'No object matches the path.',
  compressed_required: 'The path is a prefix, so `compressed` must be given.',
  access_denied: 'The storage refused access with the credentials at hand.',
  no_such_bucket: 'The bucket does not exist.',
  wrong_region: 'The bucket is in another region than the one given.',
  bad_credentials: 'The storage does not accept these credentials.',
  storage_unavailable: 'The storage gave no usable answer in time.',
  too_many_files: 'The prefix holds more files than the deployment allows.',
  ledger_mismatch: 'Devices were lost on their way again and again; nothing was merged.',
  internal_error: 'The service could not process the job; the operator’s log says why.',
  cancelled: 'The job was cancelled, or its audience was cleared.',
} as const;
export type JobFailureCode = keyof typeof jobFailureCodes;
