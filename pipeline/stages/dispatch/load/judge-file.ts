/** Decides a file by its ledger entries. Null while the ledger is incomplete. */
import type { FileFailure } from '../../../../schemas/job-documents.ts';
import { OTHER_EVENTS } from '../../../formats/parse-rows.ts';
import type { DecidedFile } from '../../../stores/files.ts';
import type { FileTally } from './tally-files.ts';

export function judgeFile(number: number, tally: FileTally, maxInvalidShare: number): DecidedFile | null {
  if (tally.failed && tally.failed.batch < tally.joined) {
    // Deterministic: the earliest failure counts, and all batches before it are recorded.
    return failed(number, tally.failed.failure);
  }
  if (tally.lastBatch < 0 || tally.joined <= tally.lastBatch) return null;

  const counts = {
    number,
    rows: tally.rows,
    accepted: tally.accepted,
    pairsRead: tally.pairsRead,
    rejected: Object.fromEntries(Object.entries(tally.rejected).filter(([, count]) => count > 0)),
  };
  const rejected = Object.values(tally.rejected).reduce((sum, count) => sum + count, 0);
  if (tally.bytes !== tally.end || tally.rows !== tally.accepted + rejected) {
    const message = `The batches have ${tally.bytes} of ${tally.end} bytes; of ${tally.rows} rows ${tally.accepted} were accepted and ${rejected} rejected.`;
    return { ...counts, failure: { code: 'ledger_mismatch', message } };
  }
  if (tally.rows === 0) {
    return { ...counts, failure: { code: 'empty_file', message: 'The file has no data row.' } };
  }
  const invalid = rejected - (tally.rejected.opted_out ?? 0);
  if (invalid > tally.rows * maxInvalidShare) {
    const message = `${format(invalid)} of ${format(tally.rows)} rows are invalid (${mainReasons(tally.rejected)}); the limit is ${format(maxInvalidShare * 100)}%. See the rejected rows.`;
    return { ...counts, failure: { code: 'too_many_invalid', message, count: invalid } };
  }
  return { ...counts, ...eventsOf(tally), ...duplicatesOf(tally), failure: null };
}

const MAX_REASONS = 3;
const { format } = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** Most frequent first. Opted-out devices do not count as invalid. */
function mainReasons(rejected: FileTally['rejected']): string {
  const { opted_out: _, ...invalid } = rejected;
  const reasons = Object.entries(invalid).filter(([, count]) => count > 0);
  const main = reasons.sort(([, a], [, b]) => b - a).slice(0, MAX_REASONS);
  const named = main.map(([code, count]) => `${code}: ${format(count)}`);
  return [...named, ...(reasons.length > MAX_REASONS ? ['…'] : [])].join(', ');
}

function eventsOf(tally: FileTally): Pick<DecidedFile, 'events' | 'eventsCollapsed'> {
  if (tally.eventRows === 0) return {};
  if (tally.hasTooManyEvents)
    return { events: [{ event: OTHER_EVENTS, rows: tally.eventRows }], eventsCollapsed: true };
  const events = [...tally.events].map(([event, rows]) => ({ event, rows }));
  return { events: events.sort((a, b) => (a.event < b.event ? -1 : 1)) };
}

/** Duplicates across batches are known only to the sinks. Here they are known for a file of one batch, or one without pairs. */
function duplicatesOf({ lastBatch, hasTooManyEvents, pairsRead, pairs }: FileTally) {
  if (pairsRead === 0) return { duplicates: 0 };
  const isKnown = lastBatch === 0 && !hasTooManyEvents;
  return isKnown ? { duplicates: pairsRead - pairs } : {};
}

/** No row counts for a file that failed before its end: how many were read is arbitrary. */
function failed(number: number, failure: FileFailure): DecidedFile {
  return { number, rows: 0, accepted: 0, pairsRead: 0, rejected: {}, failure };
}
