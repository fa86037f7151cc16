/**
 * Which parts of batches have been seen, a bit for each. A job may have more than the 16.7 million that a Set holds, and a name for each
 * would take more memory than its devices. Neighbours share a tile, whether a job has many small files or a few large ones.
 */
const FILES = 8;
const BATCHES = 64;
const WORD = 32;

type Part = { file: number; batch: number; part: number };

export class SeenBatches {
  readonly #tiles = new Map<number | string, Uint32Array>();

  /** False if it was added before. */
  add({ file, batch, part }: Part): boolean {
    const tile = this.#tileOf(Math.floor(file / FILES), Math.floor(batch / BATCHES), part);
    const place = (file % FILES) * BATCHES + (batch % BATCHES);
    const word = Math.floor(place / WORD);
    const bit = 1 << (place % WORD);
    const before = tile[word]!;
    tile[word] = before | bit;
    return (before & bit) === 0;
  }

  #tileOf(files: number, batches: number, part: number): Uint32Array {
    const key = keyOf(files, batches, part);
    let tile = this.#tiles.get(key);
    if (!tile) {
      tile = new Uint32Array((FILES * BATCHES) / WORD);
      this.#tiles.set(key, tile);
    }
    return tile;
  }
}

/** A number wherever one is large enough: it costs less than a text. */
const keyOf = (files: number, batches: number, part: number): number | string =>
  files < 2 ** 21 && batches < 2 ** 26 && part < 2 ** 6
    ? (files * 2 ** 26 + batches) * 2 ** 6 + part
    : `${files}.${batches}.${part}`;
