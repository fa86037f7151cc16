/**
 * The topics: names, keys, messages, retention. Values are Avro in the Confluent wire format (pipeline/wire/codec.ts). The id of a
 * schema never changes, and new versions of a schema only add fields that have a default.
 */
import {
  again,
  array,
  boolean,
  bytes,
  encoded,
  enumeration,
  fixed,
  int,
  long,
  type MessageValue,
  message,
  millis,
  optional,
  otherwise,
  record,
  string,
  type Version,
} from './avro-types.ts';

const kind = enumeration('JobKind', ['import', 'delete', 'audience']);
const layout = enumeration('Layout', ['attributes', 'audience']);
/** Raised when the job's files are dispatched again. */
const attempt = otherwise(int, 0);

const deviceGroup = record('DeviceGroup', 'An attribute’s id or an event, and its devices.', {
  /** An attribute's id, or an event ('' for none). */
  key: string,
  devices: array(fixed('Device', 16)),
});

const fileDevices = record('FileDevices', 'Devices of one batch in the slot of the message, by key.', {
  file: int,
  batch: int,
  groups: encoded(array(again(deviceGroup))),
});

const readFailure = record('ReadFailure', 'Why the file could not be read to its end.', {
  code: string,
  message: string,
  line: optional(long),
});

/** The number of device-key pairs of a job in a slot, and a checksum of them that does not depend on their order. */
const slotTotal = record('SlotTotal', 'What a slot must hold of the job.', { pairs: long, checksum: long });

const rejectedRow = record('RejectedRow', 'One row: physical line, code, the row cut at 200 bytes.', {
  line: long,
  code: string,
  raw: string,
});

export const messages = {
  AcceptedJob: message(1, 'AcceptedJob', 'A job as the API accepted it.', {
    job: long,
    kind,
    partner: string,
    file_path: string,
    path_type: int,
    key_type: optional(int),
    compressed: optional(boolean),
    keys: array(string),
    audience: optional(long),
    generation: optional(long),
    accepted_at: millis,
  }),

  ListedFile: message(2, 'ListedFile', 'A file of a job’s frozen list, to be read.', {
    job: long,
    file: int,
    partner: string,
    layout,
    path: string,
    etag: string,
    size: long,
    compressed: boolean,
    batch_bytes: int,
  }).grow(9, { attempt }),

  RowBatch: message(3, 'RowBatch', 'Raw rows of a file, cut at row ends.', {
    job: long,
    file: int,
    batch: int,
    last: boolean,
    partner: string,
    layout,
    path: string,
    start: long,
    end: long,
    first_line: long,
    lines: long,
    delimiter: int,
    rows: bytes,
    /** On the last batch of a file that could not be read. */
    failure: optional(readFailure),
  }).grow(10, { attempt }),

  ValidatedDevices: message(4, 'ValidatedDevices', 'Distinct devices of one batch in one slot, by key.', {
    job: long,
    file: int,
    batch: int,
    slot: int,
    /** 0, 1, … if the devices of a slot do not fit into one message. */
    part: int,
    /** See pipeline/wire/device-groups.ts. */
    groups: encoded(array(deviceGroup)),
  }).grow(13, {
    /** Small batches of the same job share a message. */
    more: otherwise(array(fileDevices), []),
  }),

  /**
   * Written to every partition of `devices` after all devices of a job. A job has two markers: the first makes each slot check
   * whether it holds all of the job, the second tells it to merge the job. Only the second ones are in job order.
   */
  CommitMarker: message(5, 'CommitMarker', 'All devices of the job stand before this.', {
    job: long,
    kind,
    /** Files to merge, as ranges: first, last, first, last, … */
    passed: array(int),
    /** Files with too many distinct events, which are stored as one event. */
    collapsed: array(int),
    /** Attributes to empty (a deletion). */
    attributes: array(long),
    audience: optional(long),
    generation: optional(long),
  })
    .grow(11, {
      /** Only check whether the slots hold what is expected; merge nothing yet. */
      check: otherwise(boolean, false),
      attempt,
      /** What each slot must hold of the files to merge, by slot number. */
      expected: otherwise(array(slotTotal), []),
      /** The job that must be merged before this one; 0 if there is none. */
      previous: otherwise(long, 0),
    })
    .grow(12, {
      /** Which stored verdict lists the files, if there are too many for a message; otherwise ''. */
      verdict: otherwise(string, ''),
      /** Nobody asks for the distinct pairs of each file. */
      files_counted: otherwise(boolean, false),
    }),

  RejectedRows: message(6, 'RejectedRows', 'Rows of one batch that were not accepted.', {
    job: long,
    file: int,
    batch: int,
    path: string,
    rows: array(rejectedRow),
  }),

  JobStatusChanged: message(7, 'JobStatusChanged', 'The newest state of a job.', {
    job: long,
    kind,
    partner: string,
    status: int,
    files: int,
    files_done: int,
    rows: long,
    unique_devices: long,
    audience: optional(long),
    errors: array(string),
    updated_at: millis,
  }),

  DeadLetter: message(8, 'DeadLetter', 'A message that could not be understood, and where it stood.', {
    topic: string,
    partition: int,
    offset: string,
    error: string,
    key: optional(bytes),
    value: bytes,
    at: millis,
  }),
};

export type MessageName = keyof typeof messages;
type Declared = { [Name in MessageName]: MessageValue<(typeof messages)[Name]> };
/** Most messages of devices hold a single batch. */
type Shareable = Omit<Declared['ValidatedDevices'], 'more'> &
  Partial<Pick<Declared['ValidatedDevices'], 'more'>>;
export type MessageTypes = Omit<Declared, 'ValidatedDevices'> & { ValidatedDevices: Shareable };
export type AcceptedJob = MessageTypes['AcceptedJob'];
export type ListedFile = MessageTypes['ListedFile'];
export type RowBatch = MessageTypes['RowBatch'];
export type ValidatedDevices = MessageTypes['ValidatedDevices'];
export type CommitMarker = MessageTypes['CommitMarker'];
export type Layout = RowBatch['layout'];
export type SlotTotal = CommitMarker['expected'][number];

/** Every version of a message's schema, the newest last. */
export const versionsOf = (name: MessageName): Version[] => {
  const { earlier, id, schema } = messages[name];
  return [...earlier, { id, schema }];
};

export interface TopicContract {
  /** After the prefix: `ingest.jobs`. */
  name: string;
  holds: MessageName[];
  /** What the message key is. */
  key: string;
  /** One partition keeps the order; `many` is the number set by the deployment. */
  partitions: 1 | 'many';
  /** What is compacted is kept for as long as jobs are, the rest for a few days. */
  cleanup: 'delete' | 'compact,delete';
}

export const topics = {
  jobs: { name: 'jobs', holds: ['AcceptedJob'], key: 'job', partitions: 1, cleanup: 'delete' },
  files: { name: 'files', holds: ['ListedFile'], key: 'job.file', partitions: 'many', cleanup: 'delete' },
  rows: { name: 'rows', holds: ['RowBatch'], key: 'job.file.batch', partitions: 'many', cleanup: 'delete' },
  devices: {
    name: 'devices',
    holds: ['ValidatedDevices', 'CommitMarker'],
    key: 'slot, or job of a marker',
    partitions: 'many',
    cleanup: 'delete',
  },
  rejects: {
    name: 'rejects',
    holds: ['RejectedRows'],
    key: 'job.file',
    partitions: 'many',
    cleanup: 'delete',
  },
  status: {
    name: 'status',
    holds: ['JobStatusChanged'],
    key: 'job',
    partitions: 1,
    cleanup: 'compact,delete',
  },
  deadLetters: { name: 'dead-letters', holds: ['DeadLetter'], key: 'none', partitions: 1, cleanup: 'delete' },
} as const satisfies Record<string, TopicContract>;
export type TopicKey = keyof typeof topics;

/** Slots of every device set. The slot of an identifier decides its partition: slot modulo the partition count. */
export const SLOTS = 16;
export const slotPartition = (slot: number, partitions: number) => slot % partitions;
