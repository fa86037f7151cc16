/**
 * Import logs as JSON text, rendered once until they change. The cache key is the raw BSON of the record: the list is read
 * each time, and a record that has changed has other bytes, so a stale rendering is never returned.
 */
import { LRUCache } from 'lru-cache';
import { BSON } from 'mongodb';
import { type ShownJob, toImportLog } from './import-records.ts';

/** At about 600 bytes each, twelve megabytes. */
const MAX_KEPT = 20_000;

export function createRenderer(): (raw: Uint8Array) => string {
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
