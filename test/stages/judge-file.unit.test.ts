import { describe, expect, it } from 'vitest';
import { judgeFile } from '../../pipeline/stages/dispatch/judge-file.ts';
import type { FileTally } from '../../pipeline/stores/ledger.ts';
import type { FileFailure } from '../../schemas/documents.ts';

const complete: FileTally = {
  job: 1,
  attempt: 0,
  file: 2,
  batches: 3,
  lastBatch: 2,
  failedBatch: null,
  bytes: 900,
  end: 900,
  rows: 100,
  accepted: 95,
  pairsRead: 95,
  rejected: { bad_identifier: 5, opted_out: 0 },
  eventEntries: 0,
  eventsOverflow: false,
};
const SHARE = 0.05;

interface Batch {
  batch: number;
  failure?: FileFailure;
}

function ledgerOf(batches: Batch[] = [], events: { event: string; rows: number }[] = []) {
  return {
    countUpTo: async (_: unknown, last: number) => batches.filter(({ batch }) => batch <= last).length,
    firstFailure: async (_: unknown, upTo: number) =>
      batches.find(({ batch, failure }) => batch <= upTo && failure)?.failure,
    events: async () => events,
  };
}
const judge = (tally: Partial<FileTally>, ledger = ledgerOf()) =>
  judgeFile({ ...complete, ...tally }, ledger, SHARE);

describe('a file that is not whole yet', () => {
  it('waits for its last batch, and for every batch before it', async () => {
    expect(await judge({ lastBatch: -1 })).toBeNull();
    expect(await judge({ batches: 2 })).toBeNull();
  });

  it('that has failed waits for the batches before the failure, which may hold an earlier one', async () => {
    const failure: FileFailure = { code: 'column_count', message: 'no', line: 7 };
    const late = ledgerOf([{ batch: 0 }, { batch: 2, failure }]);
    expect(await judge({ failedBatch: 2 }, late)).toBeNull();
    const whole = ledgerOf([{ batch: 0 }, { batch: 1 }, { batch: 2, failure }]);
    expect(await judge({ failedBatch: 2 }, whole)).toMatchObject({
      failure,
      rows: 0,
      accepted: 0,
      rejected: {},
    });
  });
});

describe('a file that has failed', () => {
  it('fails with its earliest failure, also if that came only after the tally was made', async () => {
    const [early, late]: FileFailure[] = [
      { code: 'column_count', message: 'early', line: 2 },
      { code: 'column_count', message: 'late', line: 57 },
    ];
    const ledger = ledgerOf([
      { batch: 0, failure: early! },
      { batch: 1, failure: late! },
    ]);
    expect(await judge({ failedBatch: 1 }, ledger)).toMatchObject({ failure: early });
  });
});

describe('a whole file', () => {
  it('loads with exactly the share of malformed rows that is allowed, and fails with one more', async () => {
    expect(await judge({})).toMatchObject({
      failure: null,
      rows: 100,
      accepted: 95,
      rejected: { bad_identifier: 5 },
    });
    const over = await judge({ accepted: 94, rejected: { bad_identifier: 4, bad_quotes: 2 } });
    expect(over?.failure).toMatchObject({ code: 'too_many_invalid', count: 6 });
  });

  it('loads however many opted out', async () => {
    expect(await judge({ accepted: 0, rejected: { opted_out: 100 } })).toMatchObject({ failure: null });
    expect(await judge({ accepted: 0, rejected: { opted_out: 95, bad_identifier: 5 } })).toMatchObject({
      failure: null,
    });
  });

  it('without a row is empty', async () => {
    const none = await judge({ rows: 0, accepted: 0, rejected: {}, bytes: 9, end: 9 });
    expect(none?.failure?.code).toBe('empty_file');
  });

  it('that does not balance is never taken for done', async () => {
    expect((await judge({ bytes: 899 }))?.failure?.code).toBe('ledger_mismatch');
    expect((await judge({ accepted: 94 }))?.failure?.code).toBe('ledger_mismatch');
    expect((await judge({ rows: 101 }))?.failure?.code).toBe('ledger_mismatch');
  });
});

describe('events', () => {
  const events = (count: number) => Array.from({ length: count }, (_, n) => ({ event: `e${n}`, rows: 2 }));
  const eventsOf = async (count: number, eventsOverflow = false) => {
    const verdict = await judge({ eventEntries: count, eventsOverflow }, ledgerOf([], events(count)));
    return { events: verdict?.events, collapsed: verdict?.eventsCollapsed };
  };

  it('are kept up to 1,000 and count as one beyond, or if one batch alone had more', async () => {
    expect(await eventsOf(0)).toEqual({});
    expect(await eventsOf(1_000)).toEqual({ events: events(1_000) });
    expect(await eventsOf(1_001)).toEqual({ events: [{ event: '(other)', rows: 2_002 }], collapsed: true });
    expect(await eventsOf(3, true)).toEqual({ events: [{ event: '(other)', rows: 6 }], collapsed: true });
  });
});
