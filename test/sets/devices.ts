/** Devices for tests, and the plain sets of hex strings that packed sets are compared with. */
import { createCipheriv, createHash } from 'node:crypto';
import { DEVICE_BYTES, sortDistinct } from '../../pipeline/sets/packed.ts';

export function toHex(devices: Uint8Array): string[] {
  const hex: string[] = [];
  for (let at = 0; at < devices.byteLength; at += DEVICE_BYTES) {
    hex.push(Buffer.from(devices.buffer, devices.byteOffset + at, DEVICE_BYTES).toString('hex'));
  }
  return hex;
}

export function fromHex(hex: Iterable<string>): Uint8Array {
  return new Uint8Array(Buffer.from([...hex].join(''), 'hex'));
}

/** Distinct hex strings in the order of their bytes: what any packed result must be. */
export function sortedHex(hex: Iterable<string>): string[] {
  return [...new Set(hex)].sort();
}

/** The device with this number: always the same, and nowhere near the next one. */
export function numberedDevice(number: number): string {
  return createHash('md5').update(String(number)).digest('hex');
}

export function numberedDevices(from: number, to: number, step = 1): Uint8Array {
  const hex: string[] = [];
  for (let number = from; number < to; number += step) hex.push(numberedDevice(number));
  return sortDistinct(fromHex(hex));
}

/** Many devices at once, always the same for a seed; they do not compress, as real ones do not. */
export function randomDevices(count: number, seed: number): Uint8Array {
  const key = createHash('md5').update(`seed ${seed}`).digest();
  const bytes = createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(
    Buffer.alloc(count * DEVICE_BYTES),
  );
  return sortDistinct(bytes);
}
