/**
 * How a set's devices are laid out over its manifest and its chunks, as pure decisions.
 *
 * New devices go to the manifest's inline part until that is full, and then to a chunk of their own; nothing that is stored
 * is rewritten for them. When more than eight chunks of a tier have come together they are merged into larger ones, and
 * chunks that are three quarters full are never touched again. So a device is written to a chunk three times at the very most,
 * an addition of 8,192 or more to a slot is mostly written once, and a merge reads 16 partly filled chunks at the most.
 */
import type { ManifestDocument } from '../../schemas/documents.ts';

export type ChunkEntry = ManifestDocument['chunks'][number];

export interface Layout {
  /** Devices that fit beside the chunk list. */
  inlineDevices: number;
  /** Devices of a full chunk. */
  chunkDevices: number;
  /** Chunks of one tier that may stand side by side. */
  chunksPerTier: number;
}

export const defaultLayout: Layout = { inlineDevices: 1_024, chunkDevices: 32_768, chunksPerTier: 8 };

/** How many devices each of the chunks of a run gets: as few chunks as possible, all alike. */
export function devicesPerChunk(devices: number, layout: Layout): number {
  return Math.ceil(devices / Math.ceil(devices / layout.chunkDevices));
}

/** The chunks that a new run of this many devices is to be merged with, so that no tier grows beyond its bound. */
export function chunksToMerge(chunks: readonly ChunkEntry[], devices: number, layout: Layout): ChunkEntry[] {
  const merged: ChunkEntry[] = [];
  let total = devices;
  for (const [from, below] of tiers(layout)) {
    const size = devicesPerChunk(total, layout);
    if (size < from) break;
    if (size >= below) continue;
    const alike = chunks.filter(({ count }) => count >= from && count < below);
    if (alike.length + Math.ceil(total / size) <= layout.chunksPerTier) break;
    merged.push(...alike);
    for (const { count } of alike) total += count;
  }
  return merged;
}

/** Under a quarter full, and under three quarters full. */
function tiers({ chunkDevices }: Layout): [number, number][] {
  return [
    [0, Math.floor(chunkDevices / 4)],
    [Math.floor(chunkDevices / 4), Math.floor((chunkDevices * 3) / 4)],
  ];
}
