/** Rows of numbers, packed: 100,000 rows of three take 2.4 MB, as 64-bit floats, which hold every id and count exactly. */

const BYTES = 8;

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
