/**
 * Import logs as JSON text, cached by the raw BSON of their records: the list is read each time, so a stale rendering is never
 * returned.
 */
import { LRUCache } from 'lru-cache';
import { BSON } from 'mongodb';
import { type ShownJob, toImportLog } from './import-records.ts';

/** At about 600 bytes each, twelve megabytes. */
const MAX_KEPT = 20_000;
/** Whole lists, for some hundred partners that poll them. */
const MAX_KEPT_BYTES = 32 * 2 ** 20;

function createRenderer(): (raw: Uint8Array) => string {
  const kept = new LRUCache<string, string>({ max: MAX_KEPT });
  return (raw) => {
    const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1');
    const known = kept.get(bytes);
    if (known !== undefined) return known;
    const text = JSON.stringify(toImportLog(BSON.deserialize(raw) as ShownJob));
    // A deletion with many keys is long and rarely read twice.
    if (bytes.length <= 2_000) kept.set(bytes, text);
    return text;
  };
}

interface KeptList {
  records: readonly Uint8Array[];
  body: Buffer;
}

const sizeOf = ({ records, body }: KeptList) =>
  records.reduce((sum, { byteLength }) => sum + byteLength, body.length);

const isSame = (a: readonly Uint8Array[], b: readonly Uint8Array[]) =>
  a.length === b.length && a.every((record, i) => Buffer.compare(record, b[i]!) === 0);

/** The JSON of a partner's list: the same buffer while the list is the same, so that its ETag is cached too. */
export function createListRenderer(): (partner: string, records: readonly Uint8Array[]) => Buffer {
  const render = createRenderer();
  const kept = new LRUCache<string, KeptList>({ maxSize: MAX_KEPT_BYTES, sizeCalculation: sizeOf });
  return (partner, records) => {
    const last = kept.get(partner);
    if (last && isSame(last.records, records)) return last.body;
    const body = Buffer.from(`[${records.map(render).join(',')}]`);
    kept.set(partner, { records, body });
    return body;
  };
}
