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

async function sizeOf(db: Db, collection: string): Promise<{ data: number; index: number }> {
  try {
    const [stats] = await db
      .collection(collection)
      .aggregate<{ storageStats: { storageSize: number; totalIndexSize: number } }>([
        { $collStats: { storageStats: {} } },
      ])
      .toArray();
    return { data: stats?.storageStats.storageSize ?? 0, index: stats?.storageStats.totalIndexSize ?? 0 };
  } catch (error) {
    // Nothing is stored yet, and so the collection does not exist.
    if (error instanceof MongoServerError) return { data: 0, index: 0 };
    throw error;
  }
}

/** Of all device data, with its indexes. */
export async function deviceBytes(db: Db): Promise<number> {
  await flush(db);
  const sizes = await Promise.all(
    [collections.chunks, collections.manifests].map((name) => sizeOf(db, name)),
  );
  return sizes.reduce((sum, { data, index }) => sum + data + index, 0);
}
