import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeFile } from '../../pipeline/stages/dispatch/load/judge-file.ts';
import { countBatch, noBatches } from '../../pipeline/stages/dispatch/load/tally-files.ts';
import type { RecordedBatch } from '../../pipeline/stores/ledger.ts';
import type { FileFailure } from '../../schemas/job-documents.ts';

const SHARE = 0.05;
const FILE = 2;
const BYTES = 300;

const batchOf = (batch: number, fields: Partial<RecordedBatch> = {}): RecordedBatch => ({
  job: 1,
  attempt: 0,
  file: FILE,
  batch,
  last: false,
  start: batch * BYTES,
  end: (batch + 1) * BYTES,
  rows: 50,
  accepted: 50,
  pairsRead: 50,
  pairs: 40,
  rejected: {},
  ...fields,
});
const last = (batch: number, fields: Partial<RecordedBatch> = {}) =>
  batchOf(batch, { last: true, ...fields });

function judge(...batches: RecordedBatch[]) {
  const tally = noBatches();
  for (const batch of batches) countBatch(tally, batch);
  return judgeFile(FILE, tally, SHARE);
}

describe('a file that is not whole yet', () => {
  it('waits for its last batch, and for every batch before it', () => {
    expect(judge(batchOf(0))).toBeNull();
    expect(judge(batchOf(0), last(2))).toBeNull();
    expect(judge(batchOf(0), last(2), batchOf(1))).toMatchObject({ failure: null, rows: 150 });
  });

  it('that has failed waits for the batches before the failure, which may hold an earlier one', () => {
    const failure: FileFailure = { code: 'column_count', message: 'no', line: 7 };
    expect(judge(batchOf(0), batchOf(2, { failure }))).toBeNull();
    expect(judge(batchOf(0), batchOf(2, { failure }), batchOf(1))).toMatchObject({
      failure,
      rows: 0,
      accepted: 0,
      rejected: {},
    });
  });
});

it('a file fails with its earliest failure, in whatever order its batches come and however often', () => {
  const failureAt = (line: number): FileFailure => ({ code: 'column_count', message: 'no', line });
  const batches = [
    batchOf(0),
    batchOf(1, { failure: failureAt(60) }),
    batchOf(2, { failure: failureAt(110) }),
    last(3),
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray([...batches, ...batches], { minLength: 8 }), (order) => {
      expect(judge(...order)).toMatchObject({ failure: failureAt(60) });
    }),
  );
});

describe('a whole file', () => {
  it('loads with exactly the share of malformed rows that is allowed, and fails with one more', () => {
    const rows = { rows: 100, accepted: 95, rejected: { bad_identifier: 5 } };
    expect(judge(last(0, rows))).toMatchObject({ failure: null, ...rows });
    const over = judge(last(0, { rows: 100, accepted: 94, rejected: { bad_identifier: 4, bad_quotes: 2 } }));
    expect(over?.failure).toMatchObject({ code: 'too_many_invalid', count: 6 });
    expect(over?.failure?.message).toContain('(bad_identifier: 4, bad_quotes: 2)');
  });

  it('loads however many opted out', () => {
    expect(judge(last(0, { rows: 100, accepted: 0, rejected: { opted_out: 100 } }))?.failure).toBeNull();
    const some = { opted_out: 95, bad_identifier: 5 };
    expect(judge(last(0, { rows: 100, accepted: 0, rejected: some }))?.failure).toBeNull();
  });

  it('without a row is empty', () => {
    expect(judge(last(0, { rows: 0, accepted: 0 }))?.failure?.code).toBe('empty_file');
  });

  it('that does not balance is never taken for done', () => {
    expect(judge(batchOf(0), last(1, { start: BYTES + 1 }))?.failure?.code).toBe('ledger_mismatch');
    expect(judge(last(0, { accepted: 49 }))?.failure?.code).toBe('ledger_mismatch');
    expect(judge(last(0, { rows: 51 }))?.failure?.code).toBe('ledger_mismatch');
  });

  it('knows its duplicates if it has one batch, and leaves them to the sinks if it has more', () => {
    expect(judge(last(0))).toMatchObject({ duplicates: 10 });
    expect(judge(last(0, { pairsRead: 0, pairs: 0 }))).toMatchObject({ duplicates: 0 });
    expect(judge(batchOf(0), last(1))?.duplicates).toBeUndefined();
    expect(judge(last(0, { eventsOverflow: true, events: [{ event: 'a', rows: 50 }] }))?.duplicates).toBe(
      undefined,
    );
  });
});

describe('events', () => {
  const events = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ event: `e${String(n).padStart(4, '0')}`, rows: 2 }));
  const eventsOf = (count: number, eventsOverflow = false) => {
    const decided = judge(
      batchOf(0, { events: events(count), eventsOverflow }),
      last(1, { events: events(Math.min(count, 1)) }),
    );
    return { events: decided?.events, collapsed: decided?.eventsCollapsed };
  };

  it('add up over the batches, are kept up to 1,000 and count as one beyond, or if one batch alone had more', () => {
    expect(eventsOf(0)).toEqual({});
    const [first, ...others] = events(1_000);
    expect(eventsOf(1_000)).toEqual({ events: [{ ...first, rows: 4 }, ...others] });
    expect(eventsOf(1_001)).toEqual({ events: [{ event: '(other)', rows: 2_004 }], collapsed: true });
    expect(eventsOf(3, true)).toEqual({ events: [{ event: '(other)', rows: 8 }], collapsed: true });
  });
});
