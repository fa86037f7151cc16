/** A reader's position in a partition, and its fetched messages that are not consumed yet. */
import type { TopicKey } from '../../schemas/topics.ts';
import { groupBy } from '../runtime/collections.ts';
import { asking, type Cluster, type FetchedMessage, isOutOfRange } from './cluster.ts';
import { later, offsetsAt } from './offsets.ts';

export interface Cursor {
  readonly topic: TopicKey;
  /** Topic name with prefix. */
  readonly name: string;
  readonly partition: number;
  /** Next offset to fetch. */
  position: bigint;
  /** Exclusive. Undefined: follow the partition. */
  end: bigint | undefined;
  /** High watermark of the last response. */
  high: bigint;
  /** Fetched messages, in reverse order. */
  waiting: FetchedMessage[];
}

const MAX_BYTES = 8_000_000;
const MAX_BYTES_OF_PARTITION = 1_000_000;

export const isOpen = ({ waiting, end, position }: Cursor) =>
  waiting.length > 0 || end === undefined || position < end;
export const isEmpty = ({ waiting }: Cursor) => waiting.length === 0;
/** Has nothing buffered although the partition has more. */
export const isBehind = (cursor: Cursor) =>
  isEmpty(cursor) && isOpen(cursor) && cursor.position < cursor.high;

export function endAt(cursor: Cursor, end: bigint): void {
  cursor.end = end;
  cursor.waiting = cursor.waiting.filter(({ offset }) => BigInt(offset) < end);
}

/** Fetches the next messages of each partition, waiting up to `maxWaitMs` if there are none. */
export async function fetchNext(cluster: Cluster, cursors: Cursor[], maxWaitMs: number): Promise<void> {
  try {
    await asking(cluster, () => fetchAll(cluster, cursors, maxWaitMs));
    // In a fetch of several partitions, some may come back empty because the others fill the response.
    for (const cursor of cursors.filter(isBehind))
      await asking(cluster, () => fetchAll(cluster, [cursor], 0));
  } catch (error) {
    if (!isOutOfRange(error)) throw error;
    await asking(cluster, () => skipDeleted(cluster, cursors));
  }
}

async function fetchAll(cluster: Cluster, cursors: Cursor[], maxWaitMs: number): Promise<void> {
  const leaderOf = ({ name, partition }: Cursor) =>
    cluster.findTopicPartitionMetadata(name).find(({ partitionId }) => partitionId === partition)!.leader;
  const byLeader = groupBy(cursors, (cursor) => String(leaderOf(cursor)));
  await Promise.all([...byLeader].map(([nodeId, own]) => fetchFrom(cluster, nodeId, own, maxWaitMs)));
}

async function fetchFrom(
  cluster: Cluster,
  nodeId: string,
  cursors: Cursor[],
  maxWaitTime: number,
): Promise<void> {
  const broker = await cluster.findBroker({ nodeId });
  const { responses } = await broker.fetch({
    maxWaitTime,
    maxBytes: MAX_BYTES,
    topics: cursors.map(({ name, partition, position }) => ({
      topic: name,
      partitions: [{ partition, fetchOffset: String(position), maxBytes: MAX_BYTES_OF_PARTITION }],
    })),
  });
  for (const { topicName, partitions } of responses) {
    for (const { partition, highWatermark, messages } of partitions) {
      const cursor = cursors.find((known) => known.name === topicName && known.partition === partition)!;
      cursor.high = BigInt(highWatermark);
      take(cursor, messages);
      // A fetch of a single partition always returns something. If it does not, the message was compacted away.
      if (cursors.length === 1 && isBehind(cursor)) cursor.position++;
    }
  }
}

function take(cursor: Cursor, messages: FetchedMessage[]): void {
  // The broker returns whole record batches, even for an offset in the middle of one.
  const fresh = messages.filter(({ offset }) => BigInt(offset) >= cursor.position);
  if (fresh.length > 0) cursor.position = BigInt(fresh.at(-1)!.offset) + 1n;
  cursor.waiting = fresh.filter(({ isControlRecord }) => !isControlRecord).reverse();
  if (cursor.end !== undefined) endAt(cursor, cursor.end);
}

/** Retention may delete messages before we reach them. */
async function skipDeleted(cluster: Cluster, cursors: Cursor[]): Promise<void> {
  const first = await offsetsAt(cluster, [...new Set(cursors.map(({ name }) => name))], 'beginning');
  for (const cursor of cursors) {
    cursor.position = later(cursor.position, first.get(cursor.name)!.get(cursor.partition)!);
  }
}
