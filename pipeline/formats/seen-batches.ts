/**
 * A bitmap of the parts of batches seen. A job may have more than the 16.7 million entries that a Set can hold, and a string per entry
 * would take more memory than its devices. Neighbours share a tile, whether a job has many small files or a few large ones.
 */
const FILES = 8;
const BATCHES = 64;
const WORD = 32;

type Part = { file: number; batch: number; part: number };

export class SeenBatches {
  readonly #tiles = new Map<number | string, Uint32Array>();
  /** Cached, because neighbours mostly arrive in sequence. */
  #last: { key: number | string; tile: Uint32Array } | undefined;

  /** False if it was already added. */
  add(part: Part): boolean {
    const tile = this.#tileOf(keyOf(part));
    const place = placeOf(part);
    const word = Math.floor(place / WORD);
    const before = tile[word]!;
    tile[word] = before | (1 << (place % WORD));
    return tile[word] !== before;
  }

  has(part: Part): boolean {
    const place = placeOf(part);
    const word = this.#tiles.get(keyOf(part))?.[Math.floor(place / WORD)] ?? 0;
    return (word & (1 << (place % WORD))) !== 0;
  }

  #tileOf(key: number | string): Uint32Array {
    if (this.#last?.key === key) return this.#last.tile;
    const tile = this.#tiles.get(key) ?? new Uint32Array((FILES * BATCHES) / WORD);
    this.#tiles.set(key, tile);
    this.#last = { key, tile };
    return tile;
  }
}

/** The bit within the tile. */
const placeOf = ({ file, batch }: Part): number => (file % FILES) * BATCHES + (batch % BATCHES);

/** The tile's key: a number if it fits, because numbers are cheaper than strings. */
function keyOf({ file, batch, part }: Part): number | string {
  const files = Math.floor(file / FILES);
  const batches = Math.floor(batch / BATCHES);
  return files < 2 ** 21 && batches < 2 ** 26 && part < 2 ** 6
    ? (files * 2 ** 26 + batches) * 2 ** 6 + part
    : `${files}.${batches}.${part}`;
}
