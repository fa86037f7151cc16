/** What is on disk: bytes of each topic, and what the device data takes in MongoDB. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Db, MongoServerError } from 'mongodb';
import { collections } from '../../schemas/documents.ts';

/** Bytes of the segments by topic, replicas not counted twice since there is one. Indexes are preallocated and left out. */
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

/** Everything written so far in its place on disk, so that neither sizes nor the next measurement depend on what is still to come. */
export async function flush(db: Db): Promise<void> {
  await db.admin().command({ fsync: 1 });
}

interface StorageStats {
  storageSize: number;
  /** Blocks of earlier versions, which the next write takes. */
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
    // Nothing is stored yet, and so the collection does not exist.
    if (error instanceof MongoServerError) return 0;
    throw error;
  }
}

/** Of all device data, with its indexes. */
export async function deviceBytes(db: Db): Promise<number> {
  await flush(db);
  return (await bytesOf(db, collections.pages)) + (await bytesOf(db, collections.manifests));
}
