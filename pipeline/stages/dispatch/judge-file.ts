/** Decides on a file from what the ledger says of it. Null while the ledger does not say enough. */
import type { FileFailure } from '../../../schemas/documents.ts';
import { OTHER_EVENTS } from '../../formats/parse-rows.ts';
import type { DecidedFile } from '../../stores/files.ts';
import type { FileTally, LedgerStore } from '../../stores/ledger.ts';

/** Event values that a file may have before they count as one. */
const MAX_EVENTS = 1_000;

type LedgerView = Pick<LedgerStore, 'countUpTo' | 'firstFailure' | 'events'>;

export async function judgeFile(
  tally: FileTally,
  ledger: LedgerView,
  maxInvalidShare: number,
): Promise<DecidedFile | null> {
  const { file } = tally;
  if (tally.failedBatch !== null) {
    // The earliest failure counts, so everything before it must have been seen: the verdict is the same however often it is made.
    if ((await ledger.countUpTo(tally, tally.failedBatch)) <= tally.failedBatch) return null;
    // Asked for only now: a batch that came since the tally was made may have failed too, and stand before it.
    const failure = await ledger.firstFailure(tally, tally.failedBatch);
    return failure ? failed(file, failure) : null;
  }
  if (tally.lastBatch < 0 || tally.batches <= tally.lastBatch) return null;

  const counts = {
    number: file,
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
    const message = `${invalid} of ${tally.rows} rows are invalid; at most ${maxInvalidShare * 100} % may be.`;
    return { ...counts, failure: { code: 'too_many_invalid', message, count: invalid } };
  }
  return { ...counts, ...(await eventsOf(tally, ledger)), failure: null };
}

async function eventsOf(
  tally: FileTally,
  ledger: LedgerView,
): Promise<Pick<DecidedFile, 'events' | 'eventsCollapsed'>> {
  if (tally.eventEntries === 0) return {};
  const events = await ledger.events(tally);
  if (!tally.eventsOverflow && events.length <= MAX_EVENTS) return { events };
  const rows = events.reduce((sum, event) => sum + event.rows, 0);
  return { events: [{ event: OTHER_EVENTS, rows }], eventsCollapsed: true };
}

/** A file that failed before its end says nothing of its rows: how many were read by then is chance. */
function failed(number: number, failure: FileFailure): DecidedFile {
  return { number, rows: 0, accepted: 0, pairsRead: 0, rejected: {}, failure };
}
