/** The zigzag varint of Avro and Kafka, for non-negative integers that a double can hold. */

export function varintLength(value: number): number {
  let rest = value * 2;
  let length = 1;
  while (rest >= 128) {
    rest = Math.floor(rest / 128);
    length++;
  }
  return length;
}

/** Returns the end offset. */
export function writeVarint(bytes: Buffer, at: number, value: number): number {
  let rest = value * 2;
  let end = at;
  while (rest >= 128) {
    bytes[end++] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  bytes[end++] = rest;
  return end;
}
