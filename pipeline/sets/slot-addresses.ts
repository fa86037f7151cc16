/**
 * The addresses of the devices of a small slot, stored in its manifest: a search through a hundred thousand audiences then reads no pages.
 * Each device has its own entry, even if several have the same address, so that removing one leaves the others.
 */
import { Binary } from 'mongodb';
import { ADDRESS_BITS } from '../formats/identifier.ts';
import { asBytes, type Devices, positionOf } from './devices.ts';
import { wordsOf } from './page-format.ts';

const ADDRESS_BYTES = Uint32Array.BYTES_PER_ELEMENT;
/** 2 KB: a load that adds little to a slot writes the whole manifest. */
const MAX_ADDRESSES = 512;
const TABLE_BITS = 16;
const SHIFT = ADDRESS_BITS - TABLE_BITS;

/** Undefined: not listed, as it stays from then on. */
export function withAddresses(known: Binary | undefined, { addresses, count }: Devices): Binary | undefined {
  if (!known || known.position / ADDRESS_BYTES + count > MAX_ADDRESSES) return undefined;
  const added = new Uint8Array(addresses.buffer, addresses.byteOffset, count * ADDRESS_BYTES);
  return new Binary(Buffer.concat([known.value(), added]));
}

export function withoutAddresses(known: Binary | undefined, removed: Uint32Array | undefined) {
  if (!known || !removed) return undefined;
  const entries = new Map<number, number>();
  for (const address of removed) entries.set(address, (entries.get(address) ?? 0) + 1);
  const rest = wordsOf(known.value()).filter((address) => {
    const left = entries.get(address) ?? 0;
    entries.set(address, left - 1);
    return left <= 0;
  });
  return new Binary(asBytes(rest));
}

/** Finds out whether bytes have an address of the devices. A table by the first bits of an address answers nearly always. */
export function createAddressSearch(devices: Devices) {
  const { addresses, count } = devices;
  const table = new Uint8Array(2 ** TABLE_BITS);
  for (let n = 0; n < count; n++) table[addresses[n]! >>> SHIFT] = 1;
  const aligned = new Uint32Array(MAX_ADDRESSES);
  const target = asBytes(aligned);
  return (bytes: Buffer, from: number, to: number): boolean => {
    if (to - from > target.length) return true;
    bytes.copy(target, 0, from, to);
    const end = (to - from) / ADDRESS_BYTES;
    for (let n = 0; n < end; n++) {
      const address = aligned[n]!;
      if (table[address >>> SHIFT] === 1 && addresses[positionOf(devices, address)] === address) return true;
    }
    return false;
  };
}
