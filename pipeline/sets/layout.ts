/**
 * How a set's devices are laid out over its manifest and its chunks, as pure decisions.
 *
 * New devices go to the manifest's inline part until that is full, and then to a chunk of their own; nothing that is stored
 * is rewritten for them. When too many chunks under a quarter full have come together, all of those are merged into nearly full
 * ones, and a chunk that is a quarter full is never touched again. So a device is written to a chunk twice at the most.
 *
 * Why as many as 64: a small chunk costs the reader some microseconds, but a rewritten one costs the disk twice its size until
 * the server may use the space again, minutes later. A set of a million devices is never rewritten, however it was loaded.
 */
import type { ManifestDocument } from '../../schemas/stage-documents.ts';

export type ChunkEntry = ManifestDocument['chunks'][number];

export interface Layout {
  /** Devices that fit beside the chunk list. */
  inlineDevices: number;
  /** Devices of a full chunk. */
  chunkDevices: number;
  /** Chunks under a quarter full that may stand side by side. */
  smallChunks: number;
}

export const defaultLayout: Layout = { inlineDevices: 1_024, chunkDevices: 32_768, smallChunks: 64 };

/** How many devices each of the chunks of a run gets: as few chunks as possible, all alike. */
export function devicesPerChunk(devices: number, layout: Layout): number {
  return Math.ceil(devices / Math.ceil(devices / layout.chunkDevices));
}

/** The chunks that a new run of this many devices is to be merged with. */
export function chunksToMerge(chunks: readonly ChunkEntry[], devices: number, layout: Layout): ChunkEntry[] {
  const quarter = layout.chunkDevices / 4;
  if (devices >= quarter) return [];
  const small = chunks.filter(({ count }) => count < quarter);
  return small.length < layout.smallChunks ? [] : small;
}
