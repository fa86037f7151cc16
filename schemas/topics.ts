/** The topics: names, keys, messages, retention. Values are in the Confluent wire format (pipeline/wire/codec.ts). */
import type { MessageName } from './messages.ts';
import type { StageName } from './stages.ts';

export * from './messages.ts';

export interface TopicContract {
  /** After the prefix: `ingest.jobs`. */
  name: string;
  purpose: string;
  holds: MessageName[];
  /** The message key. */
  key: string;
  writers: readonly ('api' | StageName)[];
  /** The stage whose input it is. Null: for other consumers only. */
  reader: StageName | null;
  /** 1: keeps the order. `many`: as configured. */
  partitions: 1 | 'many';
  /** Compacted topics are kept as long as jobs, others for a few days. */
  cleanup: 'delete' | 'compact,delete';
}

export const topics = {
  jobs: {
    name: 'jobs',
    purpose: 'Accepted jobs, in the order in which they complete.',
    holds: ['AcceptedJob'],
    key: 'job',
    writers: ['api', 'dispatch'],
    reader: 'dispatch',
    partitions: 1,
    cleanup: 'delete',
  },
  files: {
    name: 'files',
    purpose: 'Files to read: one message for each file of a job.',
    holds: ['ListedFile'],
    key: 'job.file',
    writers: ['dispatch'],
    reader: 'split',
    partitions: 'many',
    cleanup: 'delete',
  },
  rows: {
    name: 'rows',
    purpose: 'Raw rows of the files, in batches.',
    holds: ['RowBatch'],
    key: 'job.file.batch',
    writers: ['split'],
    reader: 'validate',
    partitions: 'many',
    cleanup: 'delete',
  },
  devices: {
    name: 'devices',
    purpose: 'Accepted devices by slot, and markers that ask the slots to prepare and to commit a job.',
    holds: ['ValidatedDevices', 'JobMarker'],
    key: 'slot, or job of a marker',
    writers: ['validate', 'dispatch'],
    reader: 'sink',
    partitions: 'many',
    cleanup: 'delete',
  },
  rejects: {
    name: 'rejects',
    purpose: 'Rejected rows, each with its line and the reason.',
    holds: ['RejectedRows'],
    key: 'job.file',
    writers: ['validate'],
    reader: null,
    partitions: 'many',
    cleanup: 'delete',
  },
  status: {
    name: 'status',
    purpose: 'The newest state of every job. Compacted: the last message of a job is its state now.',
    holds: ['JobStatusChanged'],
    key: 'job',
    writers: ['dispatch'],
    reader: null,
    partitions: 1,
    cleanup: 'compact,delete',
  },
  deadLetters: {
    name: 'dead-letters',
    purpose: 'Messages that a stage could not understand, each with its origin.',
    holds: ['DeadLetter'],
    key: 'none',
    writers: ['dispatch', 'split', 'validate', 'sink'],
    reader: null,
    partitions: 1,
    cleanup: 'delete',
  },
} as const satisfies Record<string, TopicContract>;
export type TopicKey = keyof typeof topics;

/** The input topic of each stage. */
export const stageInputs = (Object.keys(topics) as TopicKey[]).flatMap((topic) => {
  const { reader } = topics[topic];
  return reader ? [{ topic, stage: reader }] : [];
});

/**
 * Slots of every device set, chosen at the first start (HEADRACE_SLOTS). A slot maps to a partition: slot modulo the partition count.
 */
export const slotCounts = [16, 32, 64, 128, 256] as const;
export const DEFAULT_SLOTS = 16;
export const MAX_SLOTS = 256;
export const slotPartition = (slot: number, partitions: number) => slot % partitions;
