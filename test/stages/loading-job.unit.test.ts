/** Bytes read of the files in flight, as stored (compressed). */
import { expect, it } from 'vitest';
import {
  bytesReadOf,
  createLoadingJob,
  unpackedBytes,
} from '../../pipeline/stages/dispatch/load/loading-job.ts';
import { noBatches } from '../../pipeline/stages/dispatch/load/tally-files.ts';
import { aJob } from '../support/recording-environment.ts';

const nobody = { resolve: () => {}, reject: () => {} };
const before = { files: 0, rows: 0, bytes: 0, grown: 0 };
const loading = () => createLoadingJob(aJob(), { first: null, before, patienceMs: 1_000, ...nobody });
const fileOf = (bytes: number, compressed: boolean) => ({
  size: 1_000,
  batchBytes: 100,
  compressed,
  tally: { ...noBatches(), bytes },
});

it('plain files: what the ledger has, and never more than the file', () => {
  const entry = loading();
  const read = (bytes: number) => bytesReadOf(entry, fileOf(bytes, false));
  expect([0, 400, 1_001].map(read)).toEqual([0, 400, 1_000]);
});

it('compressed files: nothing until one of them has shown how they unpack', () => {
  const entry = loading();
  const read = (bytes: number) => bytesReadOf(entry, fileOf(bytes, true));
  expect(read(2_000)).toBe(0);
  entry.unpacked = { stored: 500, bytes: 2_000 };
  expect([0, 2_000, 9_000].map(read)).toEqual([0, 500, 1_000]);
});

it('what the files come to: as stored, and more where they have unpacked to more', () => {
  const entry = createLoadingJob(aJob({ bytes: 5_000 }), {
    first: null,
    before: { ...before, grown: 70 },
    patienceMs: 1_000,
    ...nobody,
  });
  expect(unpackedBytes(entry)).toBe(5_070);
  entry.inFlight.set(1, fileOf(900, true)).set(2, fileOf(1_200, true)).set(3, fileOf(1_000, false));
  expect(unpackedBytes(entry)).toBe(5_270);
});
