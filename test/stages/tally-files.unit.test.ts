import fc from 'fast-check';
import { expect, it } from 'vitest';
import { countBatch, noBatches } from '../../pipeline/stages/dispatch/load/tally-files.ts';
import type { RecordedBatch } from '../../pipeline/stores/ledger.ts';

const entry = (batch: number) =>
  ({
    batch,
    last: false,
    start: batch,
    end: batch + 1,
    rows: 1,
    accepted: 1,
    pairsRead: 1,
    rejected: {},
  }) as RecordedBatch;

it('in whatever order batches are seen, and however often: each counts once, and they join up to the first gap', () => {
  // By default fast-check stops at about ten elements: hardly any batch would repeat.
  const orders = fc.array(fc.nat(40), { maxLength: 150 });
  fc.assert(
    fc.property(orders, (batches) => {
      const tally = noBatches();
      const seen = new Set<number>();
      for (const batch of batches) {
        expect(countBatch(tally, entry(batch))).toBe(!seen.has(batch));
        seen.add(batch);
        let joined = 0;
        while (seen.has(joined)) joined++;
        expect(tally).toMatchObject({ joined, rows: seen.size });
      }
    }),
  );
});
