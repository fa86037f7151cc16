import fc from 'fast-check';
import { Binary } from 'mongodb';
import { expect, it } from 'vitest';
import {
  type ChunkEntry,
  chunksToMerge,
  defaultLayout,
  devicesPerChunk,
} from '../../pipeline/sets/layout.ts';

const bound = new Binary(new Uint8Array(16));
let next = 0;
const entry = (count: number): ChunkEntry => ({ id: String(next++), first: bound, last: bound, count });

/** Stores a run as add-devices does, and says how many devices that wrote. */
function store(chunks: ChunkEntry[], devices: number): { chunks: ChunkEntry[]; written: number } {
  const merged = chunksToMerge(chunks, devices, defaultLayout);
  const total = devices + merged.reduce((sum, { count }) => sum + count, 0);
  const size = devicesPerChunk(total, defaultLayout);
  const after = chunks.filter((chunk) => !merged.includes(chunk));
  for (let left = total; left > 0; left -= size) after.push(entry(Math.min(size, left)));
  return { chunks: after, written: total };
}

const runSizes = fc.array(
  fc.oneof(fc.integer({ min: 1_025, max: 3_000 }), fc.integer({ min: 1_025, max: 120_000 })),
  {
    minLength: 1,
    maxLength: 400,
  },
);

it('a device is written twice at most, however a set grows', () => {
  fc.assert(
    fc.property(runSizes, (sizes) => {
      let chunks: ChunkEntry[] = [];
      let written = 0;
      let devices = 0;
      for (const size of sizes) {
        const step = store(chunks, size);
        chunks = step.chunks;
        written += step.written;
        devices += size;
        expect(chunks.reduce((sum, { count }) => sum + count, 0)).toBe(devices);
        expect(Math.max(...chunks.map(({ count }) => count))).toBeLessThanOrEqual(defaultLayout.chunkDevices);
        expect(chunks.filter(({ count }) => count < 8_192).length).toBeLessThanOrEqual(64);
      }
      expect(written).toBeLessThanOrEqual(2 * devices);
    }),
  );
});

it('an addition to a large set of full chunks rewrites none of them', () => {
  const full = Array.from({ length: 300 }, () => entry(32_768));
  expect(chunksToMerge(full, 10_000, defaultLayout)).toEqual([]);
  expect(
    chunksToMerge([...full, ...Array.from({ length: 64 }, () => entry(1_100))], 1_100, defaultLayout),
  ).toHaveLength(64);
});

it('cuts a run into as few chunks as possible, all alike', () => {
  expect(devicesPerChunk(1, defaultLayout)).toBe(1);
  expect(devicesPerChunk(32_768, defaultLayout)).toBe(32_768);
  expect(devicesPerChunk(32_769, defaultLayout)).toBe(16_385);
  expect(devicesPerChunk(100_000, defaultLayout)).toBe(25_000);
});
