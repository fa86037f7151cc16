/** The keys that a job may use, and the attribute of each. */
import { ByteTable } from './byte-table.ts';

export interface KeyTable {
  /** Index in `attributes` of the attribute with this key, or -1. */
  find(source: Uint8Array, start: number, end: number): number;
  readonly attributes: readonly number[];
  /** About what it takes in memory. */
  readonly bytes: number;
}

const NUMBER_BYTES = 8;

/** Keys match byte for byte, so an attribute_id counts only in its plain decimal form (`5`, never `05` or `+5`). */
export function createKeyTable(entries: readonly { key: string; attribute: number }[]): KeyTable {
  const keys = new ByteTable();
  const attributes = [...new Set(entries.map((entry) => entry.attribute))];
  const numbers = new Map(attributes.map((attribute, number) => [attribute, number]));
  const numberOfKey: number[] = [];
  for (const { key, attribute } of entries) {
    const bytes = Buffer.from(key);
    numberOfKey[keys.add(bytes, 0, bytes.length)] = numbers.get(attribute)!;
  }
  return {
    attributes,
    bytes: keys.bytes + NUMBER_BYTES * (attributes.length + numberOfKey.length),
    find(source, start, end) {
      const entry = keys.find(source, start, end);
      return entry < 0 ? -1 : numberOfKey[entry]!;
    },
  };
}
