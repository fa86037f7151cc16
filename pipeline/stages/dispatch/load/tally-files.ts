/** Running totals of a file's ledger entries. Batches are counted in any order, each once. */
import type { FileFailure } from '../../../../schemas/job-documents.ts';
import { MAX_EVENTS } from '../../../formats/row-layouts.ts';
import { SeenBatches } from '../../../formats/seen-batches.ts';
import { addPacked, packTotals, unpackTotals } from '../../../formats/slot-totals.ts';
import type { RecordedBatch } from '../../../stores/ledger.ts';

export interface FileTally {
  /** Batches 0 to joined − 1 are counted. `behindGap`: counted batches after a gap, millions if one batch of a large file was lost. */
  joined: number;
  behindGap: SeenBatches;
  /** Number of the last batch, -1 while unknown. */
  lastBatch: number;
  /** The first batch that failed the file. */
  failed: { batch: number; failure: FileFailure } | null;
  bytes: number;
  end: number;
  rows: number;
  accepted: number;
  pairsRead: number;
  /** Distinct within each batch. */
  pairs: number;
  rejected: Record<string, number>;
  /** Totals by slot, packed (formats/slot-totals.ts); null: none. */
  slots: Uint8Array | null;
  /** Rows by event, for up to MAX_EVENTS events; rows of other events are counted together. */
  events: Map<string, number>;
  eventRows: number;
  hasTooManyEvents: boolean;
}

export const noBatches = (): FileTally => ({
  joined: 0,
  behindGap: new SeenBatches(),
  lastBatch: -1,
  failed: null,
  bytes: 0,
  end: 0,
  rows: 0,
  accepted: 0,
  pairsRead: 0,
  pairs: 0,
  rejected: {},
  slots: null,
  events: new Map(),
  eventRows: 0,
  hasTooManyEvents: false,
});

/** False if the batch was already counted. */
export function countBatch(tally: FileTally, entry: RecordedBatch): boolean {
  const { batch, failure, start, end } = entry;
  if (!join(tally, batch)) return false;
  if (entry.last) tally.lastBatch = batch;
  if (failure && batch < (tally.failed?.batch ?? Number.POSITIVE_INFINITY)) tally.failed = { batch, failure };
  tally.bytes += end - start;
  tally.end = Math.max(tally.end, end);
  tally.rows += entry.rows;
  tally.accepted += entry.accepted;
  tally.pairsRead += entry.pairsRead;
  tally.pairs += entry.pairs;
  for (const [code, count] of Object.entries(entry.rejected))
    tally.rejected[code] = (tally.rejected[code] ?? 0) + count;
  if (entry.slots) tally.slots = addSlots(tally.slots, entry.slots.buffer);
  countEvents(tally, entry);
  return true;
}

function join(tally: FileTally, batch: number): boolean {
  const place = (number: number) => ({ file: 0, batch: number, part: 0 });
  if (batch > tally.joined) return tally.behindGap.add(place(batch));
  if (batch < tally.joined) return false;
  do tally.joined++;
  while (tally.behindGap.has(place(tally.joined)));
  return true;
}

function addSlots(slots: Uint8Array | null, more: Uint8Array): Uint8Array {
  const totals = unpackTotals(more);
  if (slots) addPacked(totals, slots);
  return packTotals(totals);
}

function countEvents(tally: FileTally, { events = [], eventsOverflow = false }: RecordedBatch): void {
  tally.hasTooManyEvents ||= eventsOverflow;
  for (const { event, rows } of events) {
    tally.eventRows += rows;
    const known = tally.events.get(event);
    if (known === undefined && tally.events.size === MAX_EVENTS) tally.hasTooManyEvents = true;
    else tally.events.set(event, (known ?? 0) + rows);
  }
}
