/** CRC-32C (Castagnoli), eight bytes a step: Kafka wants it over everything that is produced. */

const POLYNOMIAL = 0x82f63b78;
const tables = Array.from({ length: 8 }, () => new Int32Array(256));
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  tables[0]![byte] = crc;
}
for (let step = 1; step < 8; step++) {
  for (let byte = 0; byte < 256; byte++) {
    const before = tables[step - 1]![byte]!;
    tables[step]![byte] = (before >>> 8) ^ tables[0]![before & 0xff]!;
  }
}
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as unknown as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
];

export function crc32c(bytes: Uint8Array): number {
  let crc = -1;
  let at = 0;
  const whole = bytes.length - 7;
  for (; at < whole; at += 8) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc =
      t7[crc & 0xff]! ^
      t6[(crc >>> 8) & 0xff]! ^
      t5[(crc >>> 16) & 0xff]! ^
      t4[crc >>> 24]! ^
      t3[bytes[at + 4]!]! ^
      t2[bytes[at + 5]!]! ^
      t1[bytes[at + 6]!]! ^
      t0[bytes[at + 7]!]!;
  }
  for (; at < bytes.length; at++) crc = t0[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return (crc ^ -1) >>> 0;
}
