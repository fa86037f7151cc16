/** Compares the topics with their intended configuration. */

import { plural } from '../../../../api/client/format.ts';
import {
  type ActualTopic,
  readTopics,
  type TopicSetting,
  weakSettings,
} from '../../../../pipeline/kafka/check-topics.ts';
import { withCluster } from '../../../../pipeline/kafka/cluster.ts';
import { newestMessages } from '../../../../pipeline/kafka/newest-messages.ts';
import { createKafka, topicName, topicSettings } from '../../../../pipeline/kafka/topics.ts';
import type { Logger } from '../../../../pipeline/runtime/log.ts';
import type { Config } from '../../../../schemas/config.ts';
import { type TopicKey, topics } from '../../../../schemas/topics.ts';
import { about, type Finding, unless } from './findings.ts';

const topicFinding = about('kafka topics');
const clock = about('kafka clock');

const keys = Object.keys(topics) as TopicKey[];
const MAX_AHEAD_MS = 5_000;

const HOUR_MS = 3_600_000;

function checkPartitions(config: Config, key: TopicKey, { partitions, replicas }: ActualTopic): Finding[] {
  const found: Finding[] = [];
  const name = topicName(config, key);
  const wanted = topics[key].partitions === 'many' ? config.partitions : 1;
  if (topics[key].partitions === 1 && partitions.length !== 1)
    found.push(
      topicFinding.problem(
        `${name} has ${partitions.length} partitions`,
        'it must have exactly one, which preserves the order',
      ),
    );
  else if (partitions.length !== wanted)
    found.push(
      topicFinding.warning(
        `${name} has ${plural(partitions.length, 'partition')}, but HEADRACE_PARTITIONS is ${wanted}`,
        'set HEADRACE_PARTITIONS to the number of the topic, which is the one in use',
      ),
    );
  const leaderless = partitions.filter(({ leader }) => leader < 0);
  const lagging = partitions.filter(({ isr, replicas }) => isr.length < replicas.length);
  if (leaderless.length > 0)
    found.push(
      topicFinding.problem(
        `${name}: ${plural(leaderless.length, 'partition')} without a leader`,
        'start the brokers that hold them',
      ),
    );
  else if (lagging.length > 0)
    found.push(
      topicFinding.warning(
        `${name}: ${plural(lagging.length, 'under-replicated partition')}`,
        'check whether a broker is down',
      ),
    );
  if (replicas < config.replicationFactor)
    found.push(
      topicFinding.warning(
        `${name} has ${replicas} replicas, but HEADRACE_REPLICATION_FACTOR is ${config.replicationFactor}`,
        'reassign its partitions to more brokers (kafka-reassign-partitions)',
      ),
    );
  return found;
}

/** A wrong value here loses or rejects messages. */
const needed: readonly TopicSetting[] = ['cleanup.policy', 'max.message.bytes'];

function checkSettings(config: Config, key: TopicKey, { settings }: ActualTopic): Finding[] {
  const topic = topicName(config, key);
  const wanted = topicSettings(config, key);
  return weakSettings(config, key, settings).flatMap((name) => {
    const value = settings.get(name) ?? '';
    const isKeptLonger = Number(value) < 0 || Number(value) > Number(wanted[name]);
    if (name === 'retention.ms' && isKeptLonger) return [];
    const found =
      name === 'retention.ms'
        ? `messages are kept for only ${Number(value) / HOUR_MS} h`
        : `${name} is ${value}`;
    const alteration = name === 'cleanup.policy' ? `[${wanted[name]}]` : wanted[name];
    const state = needed.includes(name) ? 'problem' : 'warning';
    return [
      topicFinding[state](
        `${topic}: ${found}`,
        `kafka-configs --alter --topic ${topic} --add-config ${name}=${alteration}`,
      ),
    ];
  });
}

/** Kafka does not expose its clock, but stamps messages: a future timestamp reveals clock skew. */
async function checkClocks(config: Config, log: Logger, existing: TopicKey[]): Promise<Finding[]> {
  const newest = await withCluster(config, log, (cluster) =>
    newestMessages(
      cluster,
      existing.map((key) => topicName(config, key)),
    ),
  );
  const ahead = [...newest].filter(([, time]) => time > Date.now() + MAX_AHEAD_MS);
  return unless(
    ahead.map(([name, time]) =>
      clock.warning(
        `${name} has a message with a timestamp ${Math.round((time - Date.now()) / 1_000)} s in the future`,
        'synchronize the clocks of the brokers and this machine with NTP: retention follows the brokers’ clocks',
      ),
    ),
    clock.ok('no message has a future timestamp'),
  );
}

/** `partitions`: the partition counts of existing topics. */
export async function checkTopics(
  config: Config,
  log: Logger,
): Promise<{ findings: Finding[]; partitions: Map<TopicKey, number> }> {
  const admin = createKafka(config, log, { retry: { retries: 1 } }).admin();
  await admin.connect();
  try {
    const there = new Set(await admin.listTopics());
    const existing = keys.filter((key) => there.has(topicName(config, key)));
    const missing = keys.filter((key) => !existing.includes(key)).map((key) => topicName(config, key));
    const findings =
      missing.length === 0
        ? []
        : [
            topicFinding.warning(
              `missing: ${missing.join(', ')}`,
              'the API and the pipeline create them at the start if they are allowed to; otherwise create them yourself',
            ),
          ];
    const partitions = new Map<TopicKey, number>();
    if (existing.length === 0) return { findings, partitions };
    for (const [key, actual] of await readTopics(admin, config, existing)) {
      partitions.set(key, actual.partitions.length);
      findings.push(...checkPartitions(config, key, actual), ...checkSettings(config, key, actual));
    }
    const good = topicFinding.ok(`${existing.length} topics, configured correctly`);
    const clocks = await checkClocks(config, log, existing);
    return { findings: [...unless(findings, good), ...clocks], partitions };
  } finally {
    await admin.disconnect();
  }
}
