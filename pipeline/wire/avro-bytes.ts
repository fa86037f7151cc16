/** The part of Avro's binary encoding that the two bulk messages need: no object per device, no copy of the rows. */

import { writeVarint } from './varint.ts';

export class AvroWriter {
  at = 0;
  readonly bytes: Buffer;

  constructor(header: Buffer, size: number) {
    this.bytes = Buffer.allocUnsafe(header.length + size);
    this.raw(header);
  }

  long(value: number): void {
    this.at = writeVarint(this.bytes, this.at, value);
  }

  raw(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
  }

  string(text: string): void {
    this.long(Buffer.byteLength(text));
    this.at += this.bytes.write(text, this.at);
  }
}

export class AvroReader {
  at = 0;
  constructor(readonly bytes: Buffer) {}

  long(): number {
    const first = this.bytes[this.at]!;
    if (first < 128) {
      this.at++;
      return (first >>> 1) ^ -(first & 1);
    }
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined || scale > 2 ** 56) throw new Error('truncated');
      value += (byte & 0x7f) * scale;
      if (byte < 128) break;
      scale *= 128;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Returns the offset of the skipped bytes. */
  skip(length: number): number {
    if (length < 0 || this.at + length > this.bytes.length) throw new Error('truncated');
    this.at += length;
    return this.at - length;
  }

  /** A view into the buffer: copy what you keep. */
  raw(length: number): Buffer {
    const start = this.skip(length);
    return this.bytes.subarray(start, this.at);
  }

  string(): string {
    return this.raw(this.long()).toString();
  }

  /** Number of items in the next block of an array, 0 at the end. A negative count is followed by the block's size in bytes. */
  block(): number {
    const count = this.long();
    if (count < 0) this.long();
    return Math.abs(count);
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  end(): void {
    if (this.at !== this.bytes.length) throw new Error('trailing bytes');
  }
}
