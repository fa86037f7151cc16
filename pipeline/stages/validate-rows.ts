/**
 * validate: parses a batch of raw rows, sends its distinct devices to their slots' partitions and stores its rejected rows. Only then it
 * records the batch in the ledger, so everything the ledger counts is in `devices`.
 */

import { Binary } from 'mongodb';
import { fileFailureCodes } from '../../schemas/codes.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import type { RowBatch, SlotTotal } from '../../schemas/topics.ts';
import type { Stage } from '../engine/stage.ts';
import type { DeviceHash } from '../formats/device-hash.ts';
import { blankRows, hashOfIdentifier, identifiersIn } from '../formats/find-identifiers.ts';
import { type ParsedRows, placeOf, rowFormatOf } from '../formats/row-formats.ts';
import { noTotals, packTotals } from '../formats/slot-totals.ts';
import { createBytesAhead } from '../kafka/bytes-ahead.ts';
import type { HandledOffsets } from '../kafka/handled-offsets.ts';
import type { OutgoingMessage, Publisher } from '../kafka/publish.ts';
import type { LagReader } from '../kafka/read-lag.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import type { Logger } from '../runtime/log.ts';
import { nextTurn } from '../runtime/loop-turn.ts';
import type { Notifier } from '../runtime/notifier.ts';
import type { DeviceSets } from '../sets/device-sets.ts';
import type { JobContexts } from '../stores/job-contexts.ts';
import type { LedgerEntry, LedgerStore } from '../stores/ledger.ts';
import type { RejectStore } from '../stores/rejects.ts';
import { encode } from '../wire/codec.ts';
import { createSendDevices, sizeOfBatch } from './validate/send-devices.ts';
import type { ValidateStep, ValidateStepName } from './validate/steps.ts';

export interface ValidateDependencies {
  log: Logger;
  publisher: Publisher;
  contexts: JobContexts;
  ledger: LedgerStore;
  rejects: RejectStore;
  lags: Pick<LagReader, 'positionsOf'>;
  handledOffsets: Pick<HandledOffsets, 'subscribe'>;
  /** Limit of the bytes in flight to the sink, which spills to MongoDB. */
  devicesAheadBytes: number;
  slots: number;
  hashDevice: DeviceHash;
  sets: Pick<DeviceSets, 'suppressedIdentifiers'>;
  devicePartitions: number;
  rejectPartitions: number;
  rejectsPerFile: number;
  notifier: Pick<Notifier, 'notify'>;
  onValidated(parsed: Pick<ParsedRows, 'rows' | 'rejected'>): void;
}

/** Split in other processes waits for these offset commits before it sends more: frequent commits allow a smaller read-ahead. */
const COMMIT_MS = 100;
/** Larger batches take milliseconds to parse. */
const TURN_BYTES = 50_000;
/** Fixed cost of a message for the sink, in bytes of devices (estimated). */
const MESSAGE_OVERHEAD = 1_000;

/** Hashes of the valid identifiers in rows. */
const hashesIn = (rows: { raw: string }[], hash: DeviceHash): number[] => [
  ...new Set(
    rows.flatMap(({ raw }) => identifiersIn(raw)).map((identifier) => hashOfIdentifier(identifier, hash)),
  ),
];

export function createValidateRows(deps: ValidateDependencies): Stage<ValidateStepName> {
  const { publisher, contexts, ledger, rejects } = deps;
  const sendDevices = createSendDevices(publisher, deps.devicePartitions);
  const devicesAhead = createBytesAhead(deps.devicesAheadBytes, {
    log: deps.log,
    positions: () => deps.lags.positionsOf('sink'),
    subscribe: (onHandled) => deps.handledOffsets.subscribe('sink', onHandled),
  });

  const parse = async (batch: RowBatch, job: JobDocument): Promise<ParsedRows> =>
    rowFormatOf(batch.path).parse(batch, {
      ...(batch.layout === 'attributes' ? { keys: await contexts.keysOf(job) } : {}),
      slots: { count: deps.slots, hash: deps.hashDevice },
      maxRejects: deps.rejectsPerFile,
    });

  /** Blanks rows that contain a suppressed device. */
  async function eraseSuppressed<Row extends { raw: string }>(
    job: JobDocument,
    rows: Row[],
    step: ValidateStep,
  ): Promise<Row[]> {
    const identifiers = [...new Set(rows.flatMap(({ raw }) => identifiersIn(raw)))];
    const suppressed = await step.read('look for suppressed devices', () =>
      deps.sets.suppressedIdentifiers(job.partner, identifiers),
    );
    const isErased = (identifier: string) => suppressed.has(identifier);
    const blanked = suppressed.size > 0 ? blankRows(rows, isErased) : undefined;
    if (!blanked) return rows;
    const hashes = [...suppressed].map((identifier) => hashOfIdentifier(identifier, deps.hashDevice));
    await step('keep-rejects', () => rejects.erase(hashes, isErased, job.partner));
    return blanked;
  }

  async function sendRejects(
    batch: RowBatch,
    job: JobDocument,
    parsed: ParsedRows,
    step: ValidateStep,
  ): Promise<void> {
    // Rows of a privacy request are personal data, even if malformed: do not keep them.
    if (parsed.rejects.length === 0 || job.kind === 'privacy') return;
    const rows = parsed.rejects;
    const { file, batch: number } = batch;
    const hashes = hashesIn(rows, deps.hashDevice);
    const entry = { job: job._id, file, batch: number, rows, ...(hashes.length > 0 ? { hashes } : {}) };
    const stored = await step('keep-rejects', () => rejects.keep(entry, deps.rejectsPerFile));
    // After storing: a concurrent deletion either finds the rows stored, or we find its devices suppressed.
    const kept = hashes.length > 0 ? await eraseSuppressed(job, stored, step) : stored;
    const partition = (job._id + file) % deps.rejectPartitions;
    const messages: OutgoingMessage[] = [];
    // 1,000 rows of 200 bytes are far below the limit of a message.
    for (const group of inGroups(kept, within({ count: 1_000 }))) {
      messages.push({
        partition,
        key: `${job._id}.${file}`,
        value: encode('RejectedRows', {
          job: job._id,
          file,
          batch: number,
          path: batch.path,
          rows: group,
        }),
      });
    }
    if (messages.length > 0) await step('send-rejects', () => publisher.send('rejects', messages));
  }

  async function sendWithin(batch: RowBatch, slots: ParsedRows['slots'], step: ValidateStep): Promise<void> {
    const { partner, job, file, batch: number } = batch;
    const bytes = sizeOfBatch({ slots }) + MESSAGE_OVERHEAD * slots.length;
    const send = await devicesAhead.room({ partner, job, bytes }, step.signal);
    await send(() => step('devices', () => sendDevices({ job, file, batch: number, slots })));
  }

  return {
    name: 'validate',
    input: 'rows',
    commitMs: COMMIT_MS,
    weigh: ({ name, value }) => (name === 'RowBatch' ? value.rows.length : 0),
    async handle({ message, step }) {
      if (message.name !== 'RowBatch') return;
      const batch = message.value;
      const context = await step.read('look up the job', () => contexts.get(batch.job, batch.attempt));
      if (!context?.wanted) return;
      if (batch.failure) {
        await step('ledger', () => ledger.record(entryOf(batch, null, deps.slots)));
        return;
      }
      if (batch.rows.length > TURN_BYTES) await nextTurn();
      const parsed = await step.read('look up the keys', () => parse(batch, context.job));
      const { slots } = parsed;
      if (!parsed.failure && slots.length > 0) await sendWithin(batch, slots, step);
      await sendRejects(batch, context.job, parsed, step);
      await step('ledger', () => ledger.record(entryOf(batch, parsed, deps.slots)));
      deps.onValidated(parsed);
      deps.notifier.notify();
    },
    async giveUp({ message, step }) {
      if (message.name !== 'RowBatch') return;
      const failed = { ...message.value, failure: internalError };
      await step('give-up', () => ledger.record(entryOf(failed, null, deps.slots)));
    },
  };
}

const internalError = { code: 'internal_error', message: fileFailureCodes.internal_error, line: null };

function entryOf(batch: RowBatch, parsed: ParsedRows | null, slots: number): LedgerEntry {
  const failure = batch.failure
    ? { ...batch.failure, line: batch.failure.line ?? undefined }
    : (parsed?.failure ?? imbalanceOf(batch, parsed!));
  return {
    job: batch.job,
    attempt: batch.attempt,
    file: batch.file,
    ...placeOf(batch),
    rows: parsed?.rows ?? 0,
    accepted: parsed?.accepted ?? 0,
    pairsRead: parsed?.pairsRead ?? 0,
    pairs: parsed?.pairs ?? 0,
    rejected: parsed?.rejected ?? {},
    ...(parsed?.slots.length ? { slots: new Binary(packTotals(totalsOf(parsed.slots, slots))) } : {}),
    ...(parsed?.events?.length ? { events: parsed.events } : {}),
    ...(parsed?.eventsOverflow ? { eventsOverflow: true } : {}),
    ...(failure ? { failure: failure as NonNullable<LedgerEntry['failure']> } : {}),
  };
}

function totalsOf(slots: ParsedRows['slots'], count: number): SlotTotal[] {
  const totals = noTotals(count);
  for (const { slot, pairs, checksum } of slots) totals[slot] = { pairs, checksum };
  return totals;
}

/** Cross-checks: split and validate count lines independently, and every row is either accepted or rejected. */
function imbalanceOf(batch: RowBatch, parsed: ParsedRows): LedgerEntry['failure'] {
  const linesBefore = batch.batch === 0 ? batch.first_line - 1 : 0;
  const rejected = Object.values(parsed.rejected).reduce((sum, count) => sum + count, 0);
  if (parsed.lines === batch.lines - linesBefore && parsed.rows === parsed.accepted + rejected)
    return undefined;
  return {
    code: 'ledger_mismatch',
    message: `Batch ${batch.batch}: ${batch.lines} lines were cut, ${parsed.lines} parsed; ${parsed.rows} rows, ${parsed.accepted} accepted, ${rejected} rejected.`,
  };
}
