/**
 * The usual alternative: one document per device and key, unordered bulk upserts with the Node driver from four writers, on the
 * same server with the same durability. Loads the first rows of the same files, up to a cap: the rate falls as the collection
 * grows, so the cap favours the baseline.
 */
import type { AnyBulkWriteOperation, Db } from 'mongodb';
import { flush } from './observe-storage.ts';

const ROWS_PER_BULK = 1_000;
const WRITERS = 4;
export const BASELINE_ROWS = 300_000;

interface Membership {
  device: string;
  attribute: string;
}

export interface Baseline {
  readonly rows: number;
  readonly documents: number;
  readonly seconds: number;
  readonly rowsPerSecond: number;
}

function upsertOf(line: string): AnyBulkWriteOperation<Membership> {
  const comma = line.indexOf(',');
  const membership = { device: line.slice(0, comma), attribute: line.slice(comma + 1) };
  return { updateOne: { filter: membership, update: { $setOnInsert: membership }, upsert: true } };
}

export async function measureBaseline(
  db: Db,
  file: Buffer,
  onRows: (rows: number) => void = () => {},
): Promise<Baseline> {
  const lines = file.toString('latin1').trimEnd().split('\n');
  const database = db.client.db(`${db.databaseName}-baseline`);
  const collection = database.collection<Membership>('memberships');
  await collection.createIndex({ device: 1, attribute: 1 }, { unique: true });
  await flush(db);
  let next = 0;
  let written = 0;
  const write = async () => {
    while (next < lines.length) {
      const batch = lines.slice(next, next + ROWS_PER_BULK);
      next += ROWS_PER_BULK;
      await collection.bulkWrite(batch.map(upsertOf), { ordered: false });
      written += batch.length;
      onRows(written);
    }
  };
  const since = performance.now();
  await Promise.all(Array.from({ length: WRITERS }, write));
  const seconds = (performance.now() - since) / 1_000;
  const documents = await collection.countDocuments();
  await database.dropDatabase();
  await flush(db);
  return { rows: lines.length, documents, seconds, rowsPerSecond: lines.length / seconds };
}
