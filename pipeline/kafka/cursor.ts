/** Where a reader stands in a partition, and what it has fetched of it and not used yet. */
import type { TopicKey } from '../../schemas/topics.ts';
import { groupBy } from '../runtime/collections.ts';
import { asking, type Cluster, type FetchedMessage, isOutOfRange } from './cluster.ts';
import { later, offsetsAt } from './offsets.ts';

export interface Cursor {
  readonly topic: TopicKey;
  /** Of the topic, with its prefix. */
  readonly name: string;
  readonly partition: number;
  /** The next offset to ask for. */
  position: bigint;
  /** Exclusive. Undefined: it goes on with what comes later. */
  end: bigint | undefined;
  /** The end of the partition, as its leader said last. */
  high: bigint;
  /** What was fetched, the next message last. */
  waiting: FetchedMessage[];
}

const MAX_BYTES = 8_000_000;
const MAX_BYTES_OF_PARTITION = 1_000_000;

export const isOpen = ({ waiting, end, position }: Cursor) =>
  waiting.length > 0 || end === undefined || position < end;
export const isEmpty = ({ waiting }: Cursor) => waiting.length === 0;
/** It has nothing to give, although the partition has. */
export const isBehind = (cursor: Cursor) =>
  isEmpty(cursor) && isOpen(cursor) && cursor.position < cursor.high;

export function endAt(cursor: Cursor, end: bigint): void {
  cursor.end = end;
  cursor.waiting = cursor.waiting.filter(({ offset }) => BigInt(offset) < end);
}

/** Fetches the next messages of each partition; waits up to the given time if there are none. */
export async function fetchNext(cluster: Cluster, cursors: Cursor[], maxWaitMs: number): Promise<void> {
  try {
    await asking(cluster, () => fetchAll(cluster, cursors, maxWaitMs));
    // Of several partitions, some may get nothing because the others fill the response.
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
  await Promise.all([...byLeader].map(([nodeId, some]) => fetchFrom(cluster, nodeId, some, maxWaitMs)));
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
      const cursor = cursors.find((one) => one.name === topicName && one.partition === partition)!;
      cursor.high = BigInt(highWatermark);
      take(cursor, messages);
      // Who asks for one partition always gets something. If not, what stood there was compacted away.
      if (cursors.length === 1 && isBehind(cursor)) cursor.position++;
    }
  }
}

function take(cursor: Cursor, messages: FetchedMessage[]): void {
  // A batch comes whole, also if we asked for the middle of it.
  const fresh = messages.filter(({ offset }) => BigInt(offset) >= cursor.position);
  if (fresh.length > 0) cursor.position = BigInt(fresh.at(-1)!.offset) + 1n;
  cursor.waiting = fresh.filter(({ isControlRecord }) => !isControlRecord).reverse();
  if (cursor.end !== undefined) endAt(cursor, cursor.end);
}

/** Messages are deleted while we are on our way to them, when their retention has ended. */
async function skipDeleted(cluster: Cluster, cursors: Cursor[]): Promise<void> {
  const first = await offsetsAt(cluster, [...new Set(cursors.map(({ name }) => name))], 'beginning');
  for (const cursor of cursors) {
    cursor.position = later(cursor.position, first.get(cursor.name)!.get(cursor.partition)!);
  }
}
