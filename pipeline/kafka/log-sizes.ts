/** Bytes on disk per partition: DescribeLogDirs (version 1), which kafkajs lacks. */
import KafkaDecoder from 'kafkajs/src/protocol/decoder.js';
import KafkaEncoder from 'kafkajs/src/protocol/encoder.js';
import type { Cluster } from './cluster.ts';

interface Encoder {
  writeString(text: string): Encoder;
  writeInt32(value: number): Encoder;
  writeArray(items: unknown[]): Encoder;
}
interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readBoolean(): boolean;
  readString(): string;
  readArray<T>(item: (decoder: Decoder) => T): T[];
}
const NewEncoder = KafkaEncoder as new () => Encoder;
const NewDecoder = KafkaDecoder as new (bytes: Buffer) => Decoder;

const DESCRIBE_LOG_DIRS = { apiKey: 35, apiVersion: 1, apiName: 'DescribeLogDirs' };

interface LogDirectory {
  error: number;
  path: string;
  topics: { name: string; partitions: { partition: number; bytes: number }[] }[];
}

const requestOf = (topics: { name: string; partitions: number[] }[]) => ({
  ...DESCRIBE_LOG_DIRS,
  encode: async () =>
    new NewEncoder().writeArray(
      topics.map(({ name, partitions }) =>
        new NewEncoder()
          .writeString(name)
          .writeArray(partitions.map((partition) => new NewEncoder().writeInt32(partition))),
      ),
    ),
});

const partitionIn = (decoder: Decoder) => {
  const partition = decoder.readInt32();
  const bytes = Number(decoder.readInt64().toString());
  decoder.readInt64(); // offset lag
  decoder.readBoolean(); // is a future replica (being moved between log directories)
  return { partition, bytes };
};
const topicIn = (decoder: Decoder) => ({
  name: decoder.readString(),
  partitions: decoder.readArray(partitionIn),
});
const directoryIn = (decoder: Decoder): LogDirectory => ({
  error: decoder.readInt16(),
  path: decoder.readString(),
  topics: decoder.readArray(topicIn),
});

const response = {
  async decode(bytes: Buffer): Promise<LogDirectory[]> {
    const decoder = new NewDecoder(bytes);
    decoder.readInt32(); // throttle time
    return decoder.readArray(directoryIn);
  },
  parse: async (directories: LogDirectory[]) => directories,
};

/** Counts the largest replica of each partition, because others may lag. */
export async function logSizes(cluster: Cluster, names: string[]): Promise<Map<string, number>> {
  const topics = names.map((name) => ({
    name,
    partitions: cluster.findTopicPartitionMetadata(name).map(({ partitionId }) => partitionId),
  }));
  const sizes = new Map<string, Map<number, number>>(names.map((name) => [name, new Map()]));
  for (const nodeId of cluster.getNodeIds()) {
    const broker = await cluster.findBroker({ nodeId });
    const directories = await broker.connectionPool.send({ request: requestOf(topics), response });
    for (const { name, partitions } of directories.flatMap((directory) => directory.topics))
      for (const { partition, bytes } of partitions) {
        const known = sizes.get(name)!;
        known.set(partition, Math.max(bytes, known.get(partition) ?? 0));
      }
  }
  const sum = (partitions: Map<number, number>) =>
    [...partitions.values()].reduce((sum, bytes) => sum + bytes, 0);
  return new Map([...sizes].map(([name, partitions]) => [name, sum(partitions)]));
}
