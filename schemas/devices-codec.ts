/**
 * ValidatedDevices by hand, byte for byte what Avro prescribes (a test holds it against avsc): a group's devices are one
 * block of contiguous bytes, so that a million of them cost one copy and no objects.
 */
import { SLOTS, type ValidatedDevices } from './topics.ts';

const DEVICE = 16;

/** Avro's zigzag varint of a non-negative integer that fits a double. */
function varintLength(value: number): number {
  let rest = value * 2;
  let length = 1;
  while (rest >= 128) {
    rest = Math.floor(rest / 128);
    length++;
  }
  return length;
}

function writeVarint(target: Buffer, at: number, value: number): number {
  let rest = value * 2;
  let position = at;
  while (rest >= 128) {
    target[position++] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  target[position++] = rest;
  return position;
}

export function encodeDevices(header: Buffer, message: ValidatedDevices): Buffer {
  const { job, file, batch, slot, part, groups } = message;
  const numbers = [job, file, batch, slot, part];
  let size = numbers.reduce((sum, number) => sum + varintLength(number), header.length) + 1;
  if (groups.length > 0) size += varintLength(groups.length);
  for (const group of groups) {
    const keyBytes = Buffer.byteLength(group.key);
    const count = group.devices.length / DEVICE;
    size +=
      varintLength(keyBytes) + keyBytes + 1 + (count > 0 ? varintLength(count) + group.devices.length : 0);
  }
  const target = Buffer.allocUnsafe(size);
  let at = header.copy(target);
  for (const number of numbers) at = writeVarint(target, at, number);
  if (groups.length > 0) at = writeVarint(target, at, groups.length);
  for (const group of groups) {
    at = writeVarint(target, at, Buffer.byteLength(group.key));
    at += target.write(group.key, at);
    if (group.devices.length > 0) {
      at = writeVarint(target, at, group.devices.length / DEVICE);
      target.set(group.devices, at);
      at += group.devices.length;
    }
    target[at++] = 0;
  }
  target[at] = 0;
  return target;
}

class Reader {
  at = 0;
  constructor(readonly bytes: Buffer) {}

  long(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined || scale > 2 ** 56) throw new Error('cut short');
      value += (byte & 0x7f) * scale;
      if (byte < 128) break;
      scale *= 128;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  take(length: number): Buffer {
    if (length < 0 || this.at + length > this.bytes.length) throw new Error('cut short');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** Avro writes an array as blocks; a negative count is followed by the block's size in bytes. */
  blocks(visit: (count: number) => void): void {
    for (let count = this.long(); count !== 0; count = this.long()) {
      if (count < 0) this.long();
      visit(Math.abs(count));
    }
  }
}

/** The devices are views into `body`: copy what is to be kept. */
export function decodeDevices(body: Buffer): ValidatedDevices {
  const reader = new Reader(body);
  const [job, file, batch, slot, part] = [
    reader.long(),
    reader.long(),
    reader.long(),
    reader.long(),
    reader.long(),
  ];
  if (Math.min(job, file, batch, slot, part) < 0 || slot >= SLOTS)
    throw new Error('a number is out of range');
  const groups: ValidatedDevices['groups'] = [];
  reader.blocks((count) => {
    for (let i = 0; i < count; i++) {
      const key = reader.take(reader.long()).toString();
      const parts: Buffer[] = [];
      reader.blocks((devices) => parts.push(reader.take(devices * DEVICE)));
      groups.push({ key, devices: parts.length === 1 ? parts[0]! : Buffer.concat(parts) });
    }
  });
  if (reader.at !== body.length) throw new Error('bytes are left over');
  return { job, file, batch, slot, part, groups };
}
