/** Maps the keys that a job may use to attributes. */
import { ByteList } from './byte-list.ts';
import { ByteTable } from './byte-table.ts';

export interface KeyTable {
  /** Index in `attributes` of the attribute with this key, or -1. */
  find(source: Uint8Array, start: number, end: number): number;
  /** The ids of the attributes, as text. */
  readonly attributes: ByteList;
  /** Approximate memory size. */
  readonly bytes: number;
}

const NUMBER_BYTES = 8;

/** Keys match byte for byte, so an attribute_id counts only in its plain decimal form (`5`, never `05` or `+5`). */
export function createKeyTable(entries: readonly { key: string; attribute: number }[]): KeyTable {
  const keys = new ByteTable();
  const attributes = new ByteList();
  const numbers = new Map<number, number>();
  const numberOfKey: number[] = [];
  for (const { key, attribute } of entries) {
    if (!numbers.has(attribute)) numbers.set(attribute, attributes.add(Buffer.from(String(attribute))));
    numberOfKey[keys.add(Buffer.from(key))] = numbers.get(attribute)!;
  }
  return {
    attributes,
    bytes: keys.bytes + attributes.bytes + NUMBER_BYTES * numberOfKey.length,
    find(source, start, end) {
      const entry = keys.find(source, start, end);
      return entry < 0 ? -1 : numberOfKey[entry]!;
    },
  };
}
