/** The meaning of the columns after the identifier: keys of attributes, an event, or none. */
import type { RejectCode } from '../../schemas/codes.ts';
import { ByteList, grown } from './byte-list.ts';
import { ByteTable } from './byte-table.ts';
import type { DevicePairs } from './device-pairs.ts';
import type { KeyTable } from './key-table.ts';
import type { RowReader } from './row-reader.ts';

/** Stands for all events of a file with too many of them. */
export const OTHER_EVENTS = '(other)';
/** Distinct event values, including the empty one. */
export const MAX_EVENTS = 1_000;
const MAX_EVENT_BYTES = 256;
const SPACE = 0x20;

/** Created anew for each batch. */
export interface RowLayout {
  /** A row with another number of columns fails its file. */
  readonly columns?: number;
  /** Adds the pairs of the row, or nothing if it returns a code. */
  take(row: RowReader, device: Uint32Array, pairs: DevicePairs): RejectCode | null;
  /** Pairs of the accepted rows, including repeated ones. */
  readonly pairsRead: number;
  /** Names of the keys of the pairs; valid only for this batch. */
  names(): ByteList;
}

/** Group A: one or more keys of attributes, one per column. */
export function createAttributeLayout(keys: KeyTable): RowLayout {
  const { attributes } = keys;
  const names = new ByteList();
  /** For each attribute: 1 + its index in `names`, and the last row that has it. */
  const places = new Int32Array(attributes.size);
  const lastRow = new Int32Array(attributes.size);
  let inRow = new Int32Array(16);
  let row = 0;
  let pairsRead = 0;
  const find = ({ source, starts, ends }: RowReader, column: number) =>
    keys.find(source, starts[column]!, ends[column]!);

  return {
    take(reader, device, pairs) {
      row++;
      let count = 0;
      for (let column = 1; column < reader.columns; column++) {
        if (reader.starts[column] === reader.ends[column]) continue;
        let attribute = find(reader, column);
        if (attribute < 0) {
          // No key begins or ends with a space.
          reader.trim(column);
          if (reader.starts[column] === reader.ends[column]) continue;
          attribute = find(reader, column);
          if (attribute < 0) return 'unknown_key';
        }
        if (lastRow[attribute] === row) continue;
        lastRow[attribute] = row;
        if (count === inRow.length) inRow = grown(inRow, 2 * count);
        inRow[count++] = attribute;
      }
      if (count === 0) return 'missing_key';
      for (let index = 0; index < count; index++) {
        const attribute = inRow[index]!;
        if (places[attribute] === 0) {
          const name = names.add(attributes.pool, attributes.startOf(attribute), attributes.endOf(attribute));
          places[attribute] = name + 1;
        }
        pairs.add(device, places[attribute]! - 1);
      }
      pairsRead += count;
      return null;
    },
    get pairsRead() {
      return pairsRead;
    },
    names: () => names,
  };
}

const noKey = new ByteList();
noKey.add(Buffer.alloc(0));

/** A privacy request: columns after the identifier are ignored. */
export function createIdentifierLayout(): RowLayout {
  let pairsRead = 0;
  return {
    take(_, device, pairs) {
      pairs.add(device, 0);
      pairsRead++;
      return null;
    },
    get pairsRead() {
      return pairsRead;
    },
    names: () => noKey,
  };
}

interface AudienceLayout extends RowLayout {
  /** More than MAX_EVENTS values: discard the result and parse the batch again as `collapsed`. */
  readonly overflow: boolean;
  /** Accepted rows by event, in order of appearance. */
  events(): { event: string; rows: number }[];
}

const values = new ByteTable();
const otherEvents = new ByteList();
otherEvents.add(Buffer.from(OTHER_EVENTS));

/** Group B: one event, which may be empty. `collapsed`: every event counts as OTHER_EVENTS. */
export function createAudienceLayout(collapsed: boolean): AudienceLayout {
  values.clear();
  const rows = new Int32Array(MAX_EVENTS);
  let pairsRead = 0;
  let overflow = false;

  const names = () => (collapsed ? otherEvents : values.entries);
  return {
    columns: 2,
    take(reader, device, pairs) {
      let start = reader.starts[1]!;
      let end = reader.ends[1]!;
      if (reader.source[start] === SPACE || reader.source[end - 1] === SPACE) {
        reader.trim(1);
        start = reader.starts[1]!;
        end = reader.ends[1]!;
      }
      if (end - start > MAX_EVENT_BYTES) return 'event_too_long';
      const value = collapsed ? 0 : values.add(reader.source, start, end);
      overflow ||= value >= MAX_EVENTS;
      if (overflow) return null;
      pairs.add(device, value);
      rows[value]!++;
      pairsRead++;
      return null;
    },
    get pairsRead() {
      return pairsRead;
    },
    get overflow() {
      return overflow;
    },
    names,
    events: () =>
      names()
        .texts()
        .map((event, value) => ({ event, rows: rows[value]! }))
        .filter((event) => event.rows > 0),
  };
}
