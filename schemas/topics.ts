/**
 * The topics: names, keys, what is in them, how long it stays. Values are Avro in the Confluent wire format (codec.ts);
 * an id, once given to a schema, is its for ever, and a schema only grows by fields that have a default.
 */
import type { Schema } from 'avsc';

interface Field {
  name: string;
  type: unknown;
  doc?: string;
  default?: unknown;
}
const record = (name: string, doc: string, fields: Field[]) =>
  ({ type: 'record', namespace: 'headrace', name, doc, fields }) as unknown as Schema;
/** A schema that has grown: each version has an id of its own, and adds fields to the one before it. */
function versions(name: string, doc: string, steps: { id: number; fields: Field[] }[]) {
  const all = steps.map(({ id }, last) => ({
    id,
    schema: record(
      name,
      doc,
      steps.slice(0, last + 1).flatMap(({ fields }) => fields),
    ),
  }));
  return { ...all.at(-1)!, earlier: all.slice(0, -1) };
}
const optional = (type: unknown) => ({ type: ['null', type], default: null });
const enumeration = (name: string, symbols: string[]) => ({ type: 'enum', name, symbols });
const millis = { type: 'long', logicalType: 'timestamp-millis' };

export type JobKind = 'import' | 'delete' | 'audience';
export type Layout = 'attributes' | 'audience';

/** A job as the API accepted it. */
export interface AcceptedJob {
  job: number;
  kind: JobKind;
  partner: string;
  file_path: string;
  path_type: number;
  key_type: number | null;
  compressed: boolean | null;
  keys: string[];
  audience: number | null;
  generation: number | null;
  accepted_at: number;
}

/** A file of a job's frozen list, to be read. */
export interface ListedFile {
  job: number;
  file: number;
  partner: string;
  layout: Layout;
  path: string;
  etag: string;
  size: number;
  compressed: boolean;
  batch_bytes: number;
  /** Raised when the job's files are dispatched again. */
  attempt: number;
}

/** Raw rows, cut at row ends. `failure` on the last batch of a file that could not be read. */
export interface RowBatch {
  job: number;
  file: number;
  batch: number;
  last: boolean;
  partner: string;
  layout: Layout;
  path: string;
  start: number;
  end: number;
  first_line: number;
  lines: number;
  delimiter: number;
  rows: Buffer;
  failure: { code: string; message: string; line: number | null } | null;
  attempt: number;
}

/** Distinct devices of one batch in one slot, by key: an attribute's id, or an event ('' for none). */
export interface ValidatedDevices {
  job: number;
  file: number;
  batch: number;
  slot: number;
  /** 0, 1, … where a slot's devices are more than one message may hold. */
  part: number;
  groups: { key: string; devices: Uint8Array }[];
}

/** How many pairs of device and key a slot gets of a job, and a checksum of them that does not depend on their order. */
export interface SlotTotal {
  pairs: number;
  checksum: number;
}

/**
 * Written to every partition of devices once all of a job's devices are there. A job has two: the first asks whether each slot
 * holds all of it, the second says to merge it. Only the second is in the order of the jobs.
 */
export interface CommitMarker {
  job: number;
  kind: JobKind;
  /** Only report whether the slots hold what is expected; merge nothing yet. */
  check: boolean;
  /** Files to merge, as ranges: first, last, first, last, … */
  passed: number[];
  /** Files whose events count as one. */
  collapsed: number[];
  /** Attributes to empty (a deletion). */
  attributes: number[];
  audience: number | null;
  generation: number | null;
  attempt: number;
  /** What each slot must hold of the files to merge, by slot number. */
  expected: SlotTotal[];
  /** The job whose merge must come before this one; 0 if any may. */
  previous: number;
}

export interface RejectedRows {
  job: number;
  file: number;
  batch: number;
  path: string;
  rows: { line: number; code: string; raw: string }[];
}

export interface JobStatusChanged {
  job: number;
  kind: JobKind;
  partner: string;
  status: number;
  files: number;
  files_done: number;
  rows: number;
  unique_devices: number;
  audience: number | null;
  errors: string[];
  updated_at: number;
}

export interface DeadLetter {
  topic: string;
  partition: number;
  offset: string;
  error: string;
  key: Buffer | null;
  value: Buffer;
  at: number;
}

const jobKind = enumeration('JobKind', ['import', 'delete', 'audience']);
const layout = enumeration('Layout', ['attributes', 'audience']);
const attempt = { name: 'attempt', type: 'int', default: 0 };

export const messages = {
  AcceptedJob: {
    id: 1,
    schema: record('AcceptedJob', 'A job as the API accepted it.', [
      { name: 'job', type: 'long' },
      { name: 'kind', type: jobKind },
      { name: 'partner', type: 'string' },
      { name: 'file_path', type: 'string' },
      { name: 'path_type', type: 'int' },
      { name: 'key_type', ...optional('int') },
      { name: 'compressed', ...optional('boolean') },
      { name: 'keys', type: { type: 'array', items: 'string' } },
      { name: 'audience', ...optional('long') },
      { name: 'generation', ...optional('long') },
      { name: 'accepted_at', type: millis },
    ]),
  },
  ListedFile: versions('ListedFile', 'A file of a job’s frozen list, to be read.', [
    {
      id: 2,
      fields: [
        { name: 'job', type: 'long' },
        { name: 'file', type: 'int' },
        { name: 'partner', type: 'string' },
        { name: 'layout', type: layout },
        { name: 'path', type: 'string' },
        { name: 'etag', type: 'string' },
        { name: 'size', type: 'long' },
        { name: 'compressed', type: 'boolean' },
        { name: 'batch_bytes', type: 'int' },
      ],
    },
    { id: 9, fields: [attempt] },
  ]),
  RowBatch: versions('RowBatch', 'Raw rows of a file, cut at row ends.', [
    {
      id: 3,
      fields: [
        { name: 'job', type: 'long' },
        { name: 'file', type: 'int' },
        { name: 'batch', type: 'int' },
        { name: 'last', type: 'boolean' },
        { name: 'partner', type: 'string' },
        { name: 'layout', type: layout },
        { name: 'path', type: 'string' },
        { name: 'start', type: 'long' },
        { name: 'end', type: 'long' },
        { name: 'first_line', type: 'long' },
        { name: 'lines', type: 'long' },
        { name: 'delimiter', type: 'int' },
        { name: 'rows', type: 'bytes' },
        {
          name: 'failure',
          ...optional(
            record('ReadFailure', 'Why the file could not be read to its end.', [
              { name: 'code', type: 'string' },
              { name: 'message', type: 'string' },
              { name: 'line', ...optional('long') },
            ]),
          ),
        },
      ],
    },
    { id: 10, fields: [attempt] },
  ]),
  ValidatedDevices: {
    id: 4,
    schema: record('ValidatedDevices', 'Distinct devices of one batch in one slot, by key.', [
      { name: 'job', type: 'long' },
      { name: 'file', type: 'int' },
      { name: 'batch', type: 'int' },
      { name: 'slot', type: 'int' },
      { name: 'part', type: 'int' },
      {
        name: 'groups',
        type: {
          type: 'array',
          items: record('DeviceGroup', 'An attribute’s id or an event, and its devices.', [
            { name: 'key', type: 'string' },
            { name: 'devices', type: { type: 'array', items: { type: 'fixed', name: 'Device', size: 16 } } },
          ]),
        },
      },
    ]),
  },
  CommitMarker: versions('CommitMarker', 'All devices of the job stand before this.', [
    {
      id: 5,
      fields: [
        { name: 'job', type: 'long' },
        { name: 'kind', type: jobKind },
        { name: 'passed', type: { type: 'array', items: 'int' } },
        { name: 'collapsed', type: { type: 'array', items: 'int' } },
        { name: 'attributes', type: { type: 'array', items: 'long' } },
        { name: 'audience', ...optional('long') },
        { name: 'generation', ...optional('long') },
      ],
    },
    {
      id: 11,
      fields: [
        { name: 'check', type: 'boolean', default: false },
        attempt,
        {
          name: 'expected',
          type: {
            type: 'array',
            items: record('SlotTotal', 'What a slot must hold of the job.', [
              { name: 'pairs', type: 'long' },
              { name: 'checksum', type: 'long' },
            ]),
          },
          default: [],
        },
        { name: 'previous', type: 'long', default: 0 },
      ],
    },
  ]),
  RejectedRows: {
    id: 6,
    schema: record('RejectedRows', 'Rows of one batch that were not accepted.', [
      { name: 'job', type: 'long' },
      { name: 'file', type: 'int' },
      { name: 'batch', type: 'int' },
      { name: 'path', type: 'string' },
      {
        name: 'rows',
        type: {
          type: 'array',
          items: record('RejectedRow', 'One row: physical line, code, the row cut at 200 bytes.', [
            { name: 'line', type: 'long' },
            { name: 'code', type: 'string' },
            { name: 'raw', type: 'string' },
          ]),
        },
      },
    ]),
  },
  JobStatusChanged: {
    id: 7,
    schema: record('JobStatusChanged', 'The newest state of a job.', [
      { name: 'job', type: 'long' },
      { name: 'kind', type: jobKind },
      { name: 'partner', type: 'string' },
      { name: 'status', type: 'int' },
      { name: 'files', type: 'int' },
      { name: 'files_done', type: 'int' },
      { name: 'rows', type: 'long' },
      { name: 'unique_devices', type: 'long' },
      { name: 'audience', ...optional('long') },
      { name: 'errors', type: { type: 'array', items: 'string' } },
      { name: 'updated_at', type: millis },
    ]),
  },
  DeadLetter: {
    id: 8,
    schema: record('DeadLetter', 'A message that could not be understood, and where it stood.', [
      { name: 'topic', type: 'string' },
      { name: 'partition', type: 'int' },
      { name: 'offset', type: 'string' },
      { name: 'error', type: 'string' },
      { name: 'key', ...optional('bytes') },
      { name: 'value', type: 'bytes' },
      { name: 'at', type: millis },
    ]),
  },
} as const satisfies Record<
  string,
  { id: number; schema: Schema; earlier?: { id: number; schema: Schema }[] }
>;

export interface MessageTypes {
  AcceptedJob: AcceptedJob;
  ListedFile: ListedFile;
  RowBatch: RowBatch;
  ValidatedDevices: ValidatedDevices;
  CommitMarker: CommitMarker;
  RejectedRows: RejectedRows;
  JobStatusChanged: JobStatusChanged;
  DeadLetter: DeadLetter;
}
export type MessageName = keyof MessageTypes;

export interface TopicContract {
  /** After the prefix: `ingest.jobs`. */
  name: string;
  holds: MessageName[];
  /** What the message key is. */
  key: string;
  /** One partition keeps an order; `many` is the deployment's number. */
  partitions: 1 | 'many';
  cleanup: 'delete' | 'compact';
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
  status: { name: 'status', holds: ['JobStatusChanged'], key: 'job', partitions: 1, cleanup: 'compact' },
  deadLetters: { name: 'dead-letters', holds: ['DeadLetter'], key: 'none', partitions: 1, cleanup: 'delete' },
} as const satisfies Record<string, TopicContract>;
export type TopicKey = keyof typeof topics;

/** Slots of every device set. The slot of an identifier decides its partition: slot modulo the partition count. */
export const SLOTS = 16;
export const slotPartition = (slot: number, partitions: number) => slot % partitions;
