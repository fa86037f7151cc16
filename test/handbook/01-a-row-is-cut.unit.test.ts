/**
 * 1. split cuts a file into batches of whole rows. The cuts depend only on the bytes: splitting the file again, after a crash or on
 *    another machine, yields the same batches with the same numbers. Everything else builds on this.
 */
import { expect, it } from 'vitest';
import { createRowCutter } from '../../pipeline/formats/cut-rows.ts';
import { file, ids } from '../support/rows.ts';

const BATCH_BYTES = 500;
const bytes = Buffer.from(file(ids(100), 'seen'));

function cut(chunkBytes: number, resume: Parameters<typeof createRowCutter>[1] = null) {
  const cutter = createRowCutter(BATCH_BYTES, resume);
  const cuts = [];
  for (let at = resume?.end ?? 0; at < bytes.length; at += chunkBytes)
    cuts.push(...cutter.push(bytes.subarray(at, at + chunkBytes)));
  return [...cuts, ...cutter.finish()];
}

it('batches hold whole rows, join without a gap, and the last one says that it is', () => {
  const cuts = cut(64);
  expect(cuts.length).toBeGreaterThan(2);
  for (const { rows } of cuts) expect(Buffer.from(rows).toString().endsWith('\n')).toBe(true);
  expect(Buffer.concat(cuts.map(({ rows }) => rows)).equals(bytes)).toBe(true);
  expect(cuts.map(({ batch }) => batch)).toEqual(cuts.map((_, number) => number));
  expect(cuts.map(({ last }) => last)).toEqual(cuts.map((_, number) => number === cuts.length - 1));
});

it('the size of the chunks in which the bytes arrive changes nothing', () => {
  expect(cut(7)).toEqual(cut(1_000_000));
});

it('a split that goes on behind a batch gives the rest of the same batches', () => {
  const [first, ...rest] = cut(64);
  const { batch, end, first_line: firstLine, lines, delimiter } = first!;
  expect(cut(64, { batch, end, firstLine, lines, delimiter })).toEqual(rest);
});
