/** Bytes on disk, by topic and for the device data in MongoDB. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Db, MongoServerError } from 'mongodb';
import { collections } from '../../schemas/documents.ts';

/** Bytes of the log segments by topic. There is one replica. Preallocated indexes do not count. */
export function topicBytes(kafkaLogs: string, prefix: string): Map<string, number> {
  const bytes = new Map<string, number>();
  if (!existsSync(kafkaLogs)) return bytes;
  for (const folder of readdirSync(kafkaLogs)) {
    const topic = /^(.+)-\d+$/.exec(folder)?.[1];
    if (!topic?.startsWith(`${prefix}.`)) continue;
    const segments = readdirSync(join(kafkaLogs, folder)).filter((name) => name.endsWith('.log'));
    const size = segments.reduce((sum, name) => sum + statSync(join(kafkaLogs, folder, name)).size, 0);
    bytes.set(topic, (bytes.get(topic) ?? 0) + size);
  }
  return bytes;
}

export function grown(before: Map<string, number>, after: Map<string, number>): Record<string, number> {
  const more = [...after].map(([topic, bytes]): [string, number] => [
    topic,
    bytes - (before.get(topic) ?? 0),
  ]);
  return Object.fromEntries(more.toSorted((a, b) => b[1] - a[1]));
}

/** Forces a checkpoint, so that sizes are final and the next measurement pays for no pending writes. */
export async function flush(db: Db): Promise<void> {
  await db.admin().command({ fsync: 1 });
}

interface StorageStats {
  storageSize: number;
  /** Free blocks within the files, which later writes reuse. */
  freeStorageSize: number;
  totalIndexSize: number;
}

async function bytesOf(db: Db, collection: string): Promise<number> {
  try {
    const [stats] = await db
      .collection(collection)
      .aggregate<{ storageStats: StorageStats }>([{ $collStats: { storageStats: {} } }])
      .toArray();
    const { storageSize, freeStorageSize, totalIndexSize } = stats!.storageStats;
    return storageSize - freeStorageSize + totalIndexSize;
  } catch (error) {
    // The collection does not exist yet, because nothing is stored.
    if (error instanceof MongoServerError) return 0;
    throw error;
  }
}

/** Bytes of all device data, with indexes. */
export async function deviceBytes(db: Db): Promise<number> {
  await flush(db);
  return (await bytesOf(db, collections.pages)) + (await bytesOf(db, collections.manifests));
}
