/** The brokers of a cluster: which of them lead the service's partitions, and whether all replicas are in sync. */
import type { PartitionMetadata } from 'kafkajs';
import { brokerNames } from '../../../deploy/local/names.ts';
import { createKafka } from '../../../pipeline/kafka/topics.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import type { Config } from '../../../schemas/config.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { BrokerName } from './servers.ts';

const log = createLogger({ logLevel: 'silent' }, 'brokers');

/** Partitions of the service's topics and of Kafka's internal topics. */
async function partitionsOf(config: Config): Promise<PartitionMetadata[]> {
  const admin = createKafka(config, log, { requestTimeout: 5_000, retry: { retries: 1 } }).admin();
  await admin.connect();
  try {
    const known = await admin.listTopics();
    const topics = known.filter((name) => name.startsWith('__') || name.startsWith(config.topicPrefix));
    const { topics: found } = await admin.fetchTopicMetadata({ topics });
    return found.flatMap(({ partitions }) => partitions);
  } finally {
    await admin.disconnect();
  }
}

const nameOf = (node: number): BrokerName => brokerNames[node - 1]!;

/** The broker that leads the most partitions. */
export async function busiestBroker(config: Config): Promise<BrokerName> {
  const led = new Map<number, number>();
  const partitions = await waitFor(() => partitionsOf(config), { what: 'the partitions', everyMs: 200 });
  for (const { leader } of partitions) led.set(leader, (led.get(leader) ?? 0) + 1);
  return nameOf([...led].sort(([, a], [, b]) => b - a)[0]![0]);
}

function untilAll(config: Config, what: string, holds: (partition: PartitionMetadata) => boolean) {
  const all = async () => {
    const partitions = await partitionsOf(config);
    return partitions.length > 0 && partitions.every(holds);
  };
  return waitFor(all, { what, everyMs: 200 });
}

/** Until then no other broker may fail: afterwards a majority stays, whichever it is. */
export const untilInSync = (config: Config) =>
  untilAll(config, 'all replicas in sync', ({ isr, replicas }) => isr.length === replicas.length);

/** The controller has elected the preferred leaders again: the first replica of each partition leads it. */
export const untilPreferredLead = (config: Config) =>
  untilAll(config, 'preferred leaders', ({ leader, replicas }) => leader === replicas[0]);

/** This broker leads no partition. */
export const untilLeadsNothing = (config: Config, broker: BrokerName) =>
  untilAll(config, `other leaders than ${broker}`, ({ leader }) => nameOf(leader) !== broker);
