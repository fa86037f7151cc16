/** Packed numbers. */

const BYTES = 8;

/** Rows of 64-bit floats, which hold every id and count exactly: 100,000 rows of three take 2.4 MB. */
export function packNumbers(rows: readonly (readonly number[])[]): Uint8Array {
  const width = rows[0]?.length ?? 0;
  const packed = new Uint8Array(rows.length * width * BYTES);
  const view = new DataView(packed.buffer);
  let at = 0;
  for (const row of rows) {
    for (const number of row) {
      view.setFloat64(at, number, true);
      at += BYTES;
    }
  }
  return packed;
}

export function unpackNumbers(packed: Uint8Array, width: number): number[][] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const rows: number[][] = [];
  for (let at = 0; at < packed.byteLength; ) {
    const row: number[] = [];
    for (let column = 0; column < width; column++, at += BYTES) row.push(view.getFloat64(at, true));
    rows.push(row);
  }
  return rows;
}

/** A double has 53 bits. */
const MAX_VARINT = 8;

/** Counts by id as varints: a million take 2 to 6 MB. */
export function packCounts(counts: ReadonlyMap<number, number>): Uint8Array {
  const packed = new Uint8Array(counts.size * 2 * MAX_VARINT);
  let at = 0;
  const add = (number: number) => {
    let rest = number;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) packed[at++] = (rest % 0x80) | 0x80;
    packed[at++] = rest;
  };
  let previous = 0;
  for (const id of Float64Array.from(counts.keys()).sort()) {
    add(id - previous);
    add(counts.get(id)!);
    previous = id;
  }
  return packed.slice(0, at);
}

export function unpackCounts(packed: Uint8Array): Map<number, number> {
  const counts = new Map<number, number>();
  let at = 0;
  const next = () => {
    let number = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = packed[at++];
      if (byte === undefined) throw new RangeError('counts are cut off');
      number += (byte & 0x7f) * scale;
      if (byte < 0x80) return number;
    }
  };
  for (let id = 0; at < packed.length; ) {
    id += next();
    counts.set(id, next());
  }
  return counts;
}
