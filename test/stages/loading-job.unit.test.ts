/** How much of the files in flight has been read, in bytes as they are stored. */
import { expect, it } from 'vitest';
import { noBatches } from '../../pipeline/stages/dispatch/file-tally.ts';
import { bytesReadOf, createLoadingJob } from '../../pipeline/stages/dispatch/loading-job.ts';
import { aJob } from '../support/recording-environment.ts';

const nobody = { resolve: () => {}, reject: () => {} };
const before = { files: 0, rows: 0, bytes: 0 };
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
