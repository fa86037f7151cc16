/** Offsets from the brokers: of a place in a topic, and those committed by a consumer group. */
import type { Cluster, PartitionOffset } from './cluster.ts';

/** A place in every partition of a topic. `last`: N messages before the end, possibly before the beginning. */
export type Place =
  | 'beginning'
  | 'end'
  | { readonly time: number }
  | { readonly offset: bigint }
  | { readonly last: bigint };

export const later = (a: bigint, b: bigint) => (a > b ? a : b);
export const earlier = (a: bigint, b: bigint) => (a < b ? a : b);

/** By topic and partition. */
export type Offsets = Map<string, Map<number, bigint>>;

const partitionsOf = (cluster: Cluster, topic: string) =>
  cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ partition: partitionId }));

const byPartition = (partitions: PartitionOffset[]) =>
  new Map(partitions.map(({ partition, offset }) => [partition, BigInt(offset)]));

/** The cluster object must know the topics already. A time later than all messages yields the end. */
export async function offsetsAt(cluster: Cluster, topics: string[], place: Place): Promise<Offsets> {
  if (typeof place === 'object' && 'offset' in place)
    return new Map(
      topics.map((topic) => [
        topic,
        new Map(partitionsOf(cluster, topic).map(({ partition }) => [partition, place.offset])),
      ]),
    );
  if (typeof place === 'object' && 'last' in place) {
    const ends = await offsetsAt(cluster, topics, 'end');
    for (const partitions of ends.values())
      for (const [partition, end] of partitions) partitions.set(partition, end - place.last);
    return ends;
  }
  const wanted =
    typeof place === 'object' ? { fromTimestamp: place.time } : { fromBeginning: place === 'beginning' };
  const found = await cluster.fetchTopicsOffset(
    topics.map((topic) => ({ topic, partitions: partitionsOf(cluster, topic), ...wanted })),
  );
  const offsets: Offsets = new Map(found.map(({ topic, partitions }) => [topic, byPartition(partitions)]));
  if (typeof place !== 'object') return offsets;
  const ends = await offsetsAt(cluster, topics, 'end');
  for (const [topic, partitions] of offsets)
    for (const [partition, offset] of partitions)
      if (offset < 0n) partitions.set(partition, ends.get(topic)!.get(partition)!);
  return offsets;
}

/** Committed offsets of a group in a topic; partitions without one are absent. */
export async function committedOffsets(
  cluster: Cluster,
  groupId: string,
  topic: string,
): Promise<Map<number, { offset: bigint; metadata: string }>> {
  const coordinator = await cluster.findGroupCoordinator({ groupId });
  const topics = [{ topic, partitions: partitionsOf(cluster, topic) }];
  const { responses } = await coordinator.offsetFetch({ groupId, topics });
  const committed = (responses[0]?.partitions ?? []).filter(({ offset }) => offset !== '-1');
  return new Map(
    committed.map(({ partition, offset, metadata }) => [
      partition,
      { offset: BigInt(offset), metadata: metadata ?? '' },
    ]),
  );
}

/** The group must have no members: the commit carries no generation. */
export async function commitOffset(
  cluster: Cluster,
  groupId: string,
  topic: string,
  at: PartitionOffset & { metadata?: string },
): Promise<void> {
  const coordinator = await cluster.findGroupCoordinator({ groupId });
  await coordinator.offsetCommit({
    groupId,
    groupGenerationId: -1,
    memberId: '',
    topics: [{ topic, partitions: [at] }],
  });
}
