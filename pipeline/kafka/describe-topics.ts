/** The topics as the brokers report them: contents, settings, and the lag of the stages. */
import type { OperatorConfig } from '../../schemas/config.ts';
import type { StageName } from '../../schemas/stages.ts';
import { type TopicKey, topics } from '../../schemas/topics.ts';
import type { Logger } from '../runtime/log.ts';
import { asking, type Cluster, findTopics, withCluster } from './cluster.ts';
import { type Cursor, fetchNext } from './cursor.ts';
import { logSizes } from './log-sizes.ts';
import { committedOffsets, later, offsetsAt } from './offsets.ts';
import { groupName, topicName } from './topics.ts';

interface Lag {
  stage: StageName;
  messages: number;
  /** Age of the oldest message past the stage's committed offset; 0 if there is none. */
  seconds: number;
}

export interface TopicState {
  topic: TopicKey;
  name: string;
  partitions: number;
  /** Derived from offsets: in a compacted topic it includes messages that compaction removed. */
  messages: number;
  bytes: number;
  cleanup: string;
  retentionMs: number;
  lag: Lag | null;
}

const TOPIC = 2;
const topicKeys = Object.keys(topics) as TopicKey[];

export const describeTopics = (config: OperatorConfig, log: Logger): Promise<TopicState[]> =>
  withCluster(config, log, async (cluster) => {
    const names = topicKeys.map((topic) => topicName(config, topic));
    await findTopics(cluster, names);
    const [lows, highs, sizes, settings] = await asking(cluster, () =>
      Promise.all([
        offsetsAt(cluster, names, 'beginning'),
        offsetsAt(cluster, names, 'end'),
        logSizes(cluster, names),
        settingsOf(cluster, names),
      ]),
    );
    const states: TopicState[] = [];
    for (const topic of topicKeys) {
      const name = topicName(config, topic);
      const [low, high] = [lows.get(name)!, highs.get(name)!];
      const messages = [...high].reduce(
        (sum, [partition, end]) => sum + Number(end - low.get(partition)!),
        0,
      );
      const { reader } = topics[topic];
      states.push({
        topic,
        name,
        partitions: high.size,
        messages,
        bytes: sizes.get(name)!,
        cleanup: settings.get(name)!.get('cleanup.policy')!,
        retentionMs: Number(settings.get(name)!.get('retention.ms')),
        lag: reader && (await lagOf(cluster, { topic, name, stage: reader, config, low, high })),
      });
    }
    return states;
  });

async function settingsOf(cluster: Cluster, names: string[]): Promise<Map<string, Map<string, string>>> {
  const broker = await cluster.findBroker({ nodeId: cluster.getNodeIds()[0]! });
  const configNames = ['cleanup.policy', 'retention.ms'];
  const { resources } = await broker.describeConfigs({
    resources: names.map((name) => ({ type: TOPIC, name, configNames })),
  });
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
}

interface Followed {
  config: OperatorConfig;
  topic: TopicKey;
  name: string;
  stage: StageName;
  low: Map<number, bigint>;
  high: Map<number, bigint>;
}

async function lagOf(cluster: Cluster, { config, topic, name, stage, low, high }: Followed): Promise<Lag> {
  const committed = await asking(cluster, () => committedOffsets(cluster, groupName(config, stage), name));
  const lag: Lag = { stage, messages: 0, seconds: 0 };
  for (const [partition, end] of high) {
    const first = low.get(partition)!;
    const reached = committed.get(partition)?.offset ?? first;
    const position = later(reached, first);
    if (position >= end) continue;
    lag.messages += Number(end - position);
    const cursor: Cursor = { topic, name, partition, position, end, high: end, waiting: [] };
    await fetchNext(cluster, [cursor], 0);
    const next = cursor.waiting.at(-1);
    if (next) lag.seconds = Math.max(lag.seconds, (Date.now() - Number(next.timestamp)) / 1_000);
  }
  return lag;
}
