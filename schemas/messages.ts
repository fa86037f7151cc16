/**
 * The Avro messages of the topics. A published schema id never changes its meaning: a new version adds fields with defaults.
 * test/schemas/recorded/ verifies that for every version.
 */
import {
  again,
  array,
  boolean,
  bytes,
  doc,
  encoded,
  enumeration,
  int,
  long,
  type MessageValue,
  message,
  millis,
  optional,
  record,
  string,
  uuid,
  type Version,
} from './avro-types.ts';

const kind = doc(
  enumeration('JobKind', ['import', 'delete', 'audience', 'privacy']),
  'A marketplace import, a deletion of attribute data, the load of an audience’s files, or a privacy request.',
);
const layout = doc(
  enumeration('Layout', ['attributes', 'audience', 'identifiers']),
  'What follows the identifier in a row: attribute keys, an event, or columns that are ignored.',
);
const job = doc(
  long,
  'The job’s number, which is its import_log_id or load_id. A partner’s jobs complete in this order.',
);
const file = doc(int, 'The file’s number in the list of the job: 0, 1, …');
const batch = doc(int, 'The batch’s number in the file: 0, 1, …');
const partner = doc(
  string,
  'The partner that submitted the job; * for a privacy request about the data of all.',
);
const path = doc(string, 'The object’s key in its bucket.');
const audience = doc(optional(long), 'The audience to load; null for imports and deletions.');
const generation = doc(
  optional(long),
  'Generation of the audience: a clear raises it, and work of an older generation is dropped.',
);
const attempt = doc(int, 'Raised when the job’s files are dispatched again.');

const deviceGroup = record('DeviceGroup', 'An attribute’s id or an event, and its devices.', {
  key: doc(string, 'An attribute’s id, or an event (empty for none).'),
  devices: doc(array(uuid('Device')), 'Mobile advertising identifiers, 16 bytes each.'),
});

const fileDevices = record('FileDevices', 'Devices of one batch in the slot of the message, by key.', {
  file,
  batch,
  groups: doc(encoded(array(again(deviceGroup))), 'The devices of the batch, by key.'),
});

const readFailure = record('ReadFailure', 'Why reading the file failed.', {
  code: doc(string, 'Failure code, as in the import log.'),
  message: doc(string, 'Human-readable message.'),
  line: doc(optional(long), 'Line of the failure.'),
});

const slotTotal = record('SlotTotal', 'Expected content of a slot.', {
  pairs: doc(long, 'Device-key pairs.'),
  checksum: doc(long, 'Order-independent checksum of the pairs.'),
});

const rejectedRow = record('RejectedRow', 'One row: physical line, code, the row cut at 200 bytes.', {
  line: doc(long, 'The row’s line in the file, from 1.'),
  code: doc(string, 'Why it was rejected.'),
  raw: doc(string, 'The row, cut at 200 bytes.'),
});

export const messages = {
  AcceptedJob: message(1, 'AcceptedJob', 'A job as the API accepted it.', {
    job,
    kind,
    partner,
    file_path: doc(string, 'The path as it was submitted; empty for a deletion.'),
    path_type: doc(int, '0: in the shared bucket, 1: a URL of the partner’s own storage.'),
    key_type: doc(optional(int), '0: attribute_ids, 1: partner_foreign_keys; null for an audience.'),
    compressed: doc(optional(boolean), 'Whether the files are gzip; null: by file extension.'),
    keys: doc(array(string), 'The keys to delete; empty unless it is a deletion.'),
    audience,
    generation,
    accepted_at: doc(millis, 'When the API accepted it.'),
  }),

  ListedFile: message(2, 'ListedFile', 'A file of a job’s frozen list, to be read.', {
    job,
    file,
    partner,
    layout,
    path,
    etag: doc(string, 'ETag at listing; the file fails if the object has changed since.'),
    size: doc(long, 'The object’s size in bytes, as stored.'),
    compressed: doc(boolean, 'Whether it is gzip.'),
    batch_bytes: doc(int, 'Batch size in decompressed bytes.'),
    attempt,
  }),

  RowBatch: message(3, 'RowBatch', 'Raw rows of a file, cut at row ends.', {
    job,
    file,
    batch,
    last: doc(boolean, 'Whether the file ends with this batch.'),
    partner,
    layout,
    path,
    start: doc(long, 'Offset of the batch in the decompressed file.'),
    end: doc(long, 'Offset behind the batch, where the next one starts.'),
    first_line: doc(long, 'Line of the first row, from 1.'),
    lines: doc(long, 'Lines that begin in the batch.'),
    delimiter: doc(int, 'The byte between fields: 44 is a comma.'),
    rows: doc(bytes, 'The rows as they are in the file.'),
    failure: doc(optional(readFailure), 'Set on the last batch of a file that could not be read completely.'),
    attempt,
  }),

  ValidatedDevices: message(4, 'ValidatedDevices', 'Distinct devices of one batch in one slot, by key.', {
    job,
    file,
    batch,
    slot: doc(int, 'The slot, a hash of the identifier: 0 to 15.'),
    part: doc(int, '0, 1, … if the devices of a slot do not fit into one message.'),
    groups: doc(encoded(array(deviceGroup)), 'The devices of the batch, by key.'),
    more: doc(array(fileDevices), 'Further small batches of the same job and slot.'),
  }),

  /**
   * The coordinator's requests, written to every partition of `devices` after all devices of the job: prepare asks each slot for its vote;
   * commit or drop sends the decision. Only commit and drop are in the order of a partner's jobs.
   */
  JobMarker: message(5, 'JobMarker', 'Written to every partition after all devices of the job.', {
    job,
    kind,
    partner,
    request: doc(
      enumeration('Request', ['prepare', 'commit', 'drop']),
      'prepare: vote whether the slots hold what is expected. commit: merge the job. drop: an operator dropped the job, do not merge it; slots that have merged it keep it.',
    ),
    attempt,
    passed: doc(array(int), 'Files to merge, as ranges: first, last, first, last, …'),
    collapsed: doc(array(int), 'Files with too many distinct events, which are stored as one event.'),
    verdict: doc(string, 'The stored verdict that lists the files, if they are too many for a message.'),
    files_counted: doc(boolean, 'Skip counting the distinct pairs of each file.'),
    attributes: doc(array(long), 'Attributes to empty (a deletion).'),
    privacy: doc(string, 'Of a privacy request: delete, access or restore; empty for other jobs.'),
    audience,
    generation,
    expected: doc(array(slotTotal), 'What each slot must hold of the files to merge, by slot number.'),
    after: doc(
      array(long),
      'Jobs of the same partner that must be merged first: those that are not merged yet and change or match the same devices.',
    ),
    ended_before: doc(long, 'All jobs below this number have ended.'),
  }),

  RejectedRows: message(6, 'RejectedRows', 'Rows of one batch that were not accepted.', {
    job,
    file,
    batch,
    path,
    rows: doc(array(rejectedRow), 'The rejected rows, at most 1,000 a message.'),
  }),

  JobStatusChanged: message(7, 'JobStatusChanged', 'The newest state of a job.', {
    job,
    kind,
    partner,
    status: doc(int, '0 pending, 1 running, 2 done, 3 error.'),
    files: doc(int, 'Files in the list of the job.'),
    files_done: doc(int, 'Files that are loaded or have failed.'),
    rows: doc(long, 'Data rows read, accepted or not; of a deletion, pairs of device and attribute removed.'),
    unique_devices: doc(long, 'Distinct devices accepted; of a deletion, those that lost data.'),
    audience,
    errors: doc(array(string), 'Error codes.'),
    updated_at: doc(millis, 'When this state was stored.'),
  }),

  DeadLetter: message(8, 'DeadLetter', 'A message that could not be decoded, and its position.', {
    topic: doc(string, 'Source topic.'),
    partition: doc(int, 'Source partition.'),
    offset: doc(string, 'Source offset.'),
    error: doc(string, 'Why decoding failed.'),
    key: doc(optional(bytes), 'Message key.'),
    value: doc(bytes, 'Message value, unchanged.'),
    at: doc(millis, 'When it was read.'),
  }),
};

export type MessageName = keyof typeof messages;
type Declared = { [Name in MessageName]: MessageValue<(typeof messages)[Name]> };
/** Most messages hold a single batch. */
type Shareable = Omit<Declared['ValidatedDevices'], 'more'> &
  Partial<Pick<Declared['ValidatedDevices'], 'more'>>;
export type MessageTypes = Omit<Declared, 'ValidatedDevices'> & { ValidatedDevices: Shareable };
export type AcceptedJob = MessageTypes['AcceptedJob'];
export type ListedFile = MessageTypes['ListedFile'];
export type RowBatch = MessageTypes['RowBatch'];
export type ValidatedDevices = MessageTypes['ValidatedDevices'];
export type JobMarker = MessageTypes['JobMarker'];
export type Layout = RowBatch['layout'];
export type SlotTotal = JobMarker['expected'][number];

/** In terms of a schema registry: every version can read what every other has written. */
export const compatibility = 'FULL_TRANSITIVE';

/** Every version of a message's schema, the newest last. */
export const versionsOf = (name: MessageName): Version[] => {
  const { earlier, id, schema } = messages[name];
  return [...earlier, { id, schema }];
};
