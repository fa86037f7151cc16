/** Checks Kafka: every configured broker, the required rights, and the consumer groups. */

import { isFromKafka } from '../../../../pipeline/engine/failures.ts';
import { asking, type Cluster, findTopics, withCluster } from '../../../../pipeline/kafka/cluster.ts';
import { committedOffsets, offsetsAt } from '../../../../pipeline/kafka/offsets.ts';
import { createKafka, groupName, topicName } from '../../../../pipeline/kafka/topics.ts';
import type { Logger } from '../../../../pipeline/runtime/log.ts';
import type { Config } from '../../../../schemas/config.ts';
import { type StageName, stageNames } from '../../../../schemas/stages.ts';
import { type TopicKey, topics } from '../../../../schemas/topics.ts';
import { checkTopics } from './check-topics.ts';
import { about, examine, type Finding, unless } from './findings.ts';

const connection = about('kafka connection');
const rights = about('kafka rights');
const groupFinding = about('kafka groups');

const ADDRESS = 'check HEADRACE_KAFKA_BROKERS, and that the brokers can be reached from this machine';
const RIGHTS = 'give the user of the service this right in Kafka';

const checkBroker = (config: Config, log: Logger, broker: string): Promise<Finding[]> =>
  withCluster({ ...config, kafkaBrokers: [broker] }, log, async (cluster) => {
    await cluster.refreshMetadata();
    const count = brokers(cluster.getNodeIds().length);
    return [connection.ok(`${broker} responds; the cluster has ${count}`)];
  });

async function checkBrokers(config: Config, log: Logger): Promise<Finding[]> {
  const found = await Promise.all(
    config.kafkaBrokers.map((broker) =>
      examine('kafka connection', ADDRESS, () => checkBroker(config, log, broker)),
    ),
  );
  return found.flat();
}
const brokers = (count: number) => (count === 1 ? '1 broker' : `${count} brokers`);

type KafkaError = Error & { type?: string };

/** The broker rejects an empty batch, but only after checking the right to write. */
async function mayWrite(cluster: Cluster, topic: string): Promise<boolean> {
  const [first] = cluster.findTopicPartitionMetadata(topic);
  const broker = await cluster.findBroker({ nodeId: String(first!.leader) });
  try {
    const partitions = [{ partition: first!.partitionId, messages: [] }];
    await broker.produce({ topicData: [{ topic, partitions }], acks: -1, timeout: 5_000 });
    return true;
  } catch (error) {
    if (!isFromKafka(error) || (error as KafkaError).type === undefined) throw error;
    return !/AUTHORIZATION/.test((error as KafkaError).type!);
  }
}

/** Returns false if the brokers deny it. */
const isAllowed = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    (error: KafkaError) => {
      if (isFromKafka(error) && /AUTHORIZATION/.test(error.type ?? '')) return false;
      throw error;
    },
  );

const checkRights = (config: Config, log: Logger, existing: TopicKey[]): Promise<Finding[]> =>
  withCluster(config, log, async (cluster) => {
    const found: Finding[] = [];
    const need = async (right: string, allowed: Promise<boolean>) => {
      if (!(await allowed)) found.push(rights.problem(`may not ${right}`, RIGHTS));
    };
    for (const key of existing) {
      const name = topicName(config, key);
      await findTopics(cluster, [name]);
      await need(
        `write to ${name}`,
        asking(cluster, () => mayWrite(cluster, name)),
      );
      const { reader } = topics[key];
      if (!reader) continue;
      await need(`read ${name}`, isAllowed(offsetsAt(cluster, [name], 'end')));
      const group = groupName(config, reader);
      await need(`use the group ${group}`, isAllowed(committedOffsets(cluster, group, name)));
    }
    return unless(found, rights.ok(`may write to ${existing.length} topics and read the stages’ inputs`));
  });

/** Warns of a stage without a consumer while others run. */
async function checkGroups(config: Config, log: Logger): Promise<Finding[]> {
  const admin = createKafka(config, log, { retry: { retries: 1 } }).admin();
  await admin.connect();
  try {
    const { groups } = await admin.describeGroups(stageNames.map((stage) => groupName(config, stage)));
    const members = (stage: StageName) =>
      groups.find(({ groupId }) => groupId === groupName(config, stage))?.members.length ?? 0;
    const idle = stageNames.filter((stage) => members(stage) === 0);
    const all = stageNames.map((stage) => `${stage} ${members(stage)}`).join(', ');
    if (idle.length === 0) return [groupFinding.ok(`consumers by stage: ${all}`)];
    const advice = `start headrace pipeline${idle.length < stageNames.length ? ` --stages ${idle.join(',')}` : ''}`;
    return [groupFinding.warning(`no process runs ${idle.join(', ')}`, advice)];
  } finally {
    await admin.disconnect();
  }
}

interface KafkaFindings {
  findings: Finding[];
  /** The partition counts of existing topics. */
  partitions: Map<TopicKey, number>;
}

export async function checkKafka(config: Config, log: Logger): Promise<KafkaFindings> {
  let partitions = new Map<TopicKey, number>();
  const findings = await checkBrokers(config, log);
  if (findings.every(({ state }) => state === 'problem')) return { findings, partitions };
  const inTopics = await examine('kafka topics', ADDRESS, async () => {
    const checked = await checkTopics(config, log);
    partitions = checked.partitions;
    return checked.findings;
  });
  findings.push(...inTopics);
  if (partitions.size > 0)
    findings.push(
      ...(await examine('kafka rights', RIGHTS, () => checkRights(config, log, [...partitions.keys()]))),
    );
  findings.push(...(await examine('kafka groups', RIGHTS, () => checkGroups(config, log))));
  return { findings, partitions };
}
