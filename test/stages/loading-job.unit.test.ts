/** How much of the files in flight has been read, in bytes as they are stored. */
import { expect, it } from 'vitest';
import { bytesReadOf, createLoadingJob } from '../../pipeline/stages/dispatch/loading-job.ts';
import type { FileTally } from '../../pipeline/stores/ledger.ts';
import { aJob } from '../support/recording-environment.ts';

const nobody = { resolve: () => {}, reject: () => {} };
const before = { files: 0, rows: 0, bytes: 0 };
const loading = () => createLoadingJob(aJob(), { first: null, before, patienceMs: 1_000, ...nobody });
const tally = (file: number, bytes: number) => ({ file, bytes }) as FileTally;

it('plain files: what the ledger has, and never more than the file', () => {
  const entry = loading();
  entry.inFlight.set(3, { size: 1_000, compressed: false });
  expect([0, 400, 1_001].map((bytes) => bytesReadOf(entry, tally(3, bytes)))).toEqual([0, 400, 1_000]);
  expect(bytesReadOf(entry, tally(4, 400))).toBe(0);
});

it('compressed files: nothing until one of them has shown how they unpack', () => {
  const entry = loading();
  entry.inFlight.set(3, { size: 1_000, compressed: true });
  expect(bytesReadOf(entry, tally(3, 2_000))).toBe(0);
  entry.unpacked = { stored: 500, bytes: 2_000 };
  expect([0, 2_000, 9_000].map((bytes) => bytesReadOf(entry, tally(3, bytes)))).toEqual([0, 500, 1_000]);
});
