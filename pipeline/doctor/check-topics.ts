/** The topics as they are against the topics as they should be. */
import type { Admin } from 'kafkajs';
import type { Config } from '../../schemas/config.ts';
import { type TopicKey, topics } from '../../schemas/topics.ts';
import { withCluster } from '../kafka/cluster.ts';
import { newestMessages } from '../kafka/newest-messages.ts';
import { createKafka, MAX_RECORD_BATCH, retentionHoursOf, topicName } from '../kafka/topics.ts';
import type { Logger } from '../runtime/log.ts';
import { type Finding, ok, problem, unless, warning } from './findings.ts';

const TOPIC = 2;
const keys = Object.keys(topics) as TopicKey[];
const MAX_AHEAD_MS = 5_000;

type Metadata = Awaited<ReturnType<Admin['fetchTopicMetadata']>>['topics'][number];

function checkPartitions(config: Config, key: TopicKey, { name, partitions }: Metadata): Finding[] {
  const found: Finding[] = [];
  const wanted = topics[key].partitions === 'many' ? config.partitions : 1;
  if (topics[key].partitions === 1 && partitions.length !== 1)
    found.push(
      problem(
        'kafka topics',
        `${name} has ${partitions.length} partitions`,
        'it must have one, which keeps the order',
      ),
    );
  else if (partitions.length !== wanted)
    found.push(
      warning(
        'kafka topics',
        `${name} has ${partitions.length} partitions, HEADRACE_PARTITIONS says ${wanted}`,
        'the topic counts; set HEADRACE_PARTITIONS to what it has',
      ),
    );
  const leaderless = partitions.filter(({ leader }) => leader < 0);
  const lagging = partitions.filter(({ isr, replicas }) => isr.length < replicas.length);
  const replicas = Math.min(...partitions.map((partition) => partition.replicas.length));
  if (leaderless.length > 0)
    found.push(
      problem(
        'kafka topics',
        `${name}: ${leaderless.length} partitions have no leader`,
        'start the brokers that hold them',
      ),
    );
  else if (lagging.length > 0)
    found.push(
      warning(
        'kafka topics',
        `${name}: ${lagging.length} partitions have replicas that lag`,
        'see whether a broker is down',
      ),
    );
  if (replicas < config.replicationFactor)
    found.push(
      warning(
        'kafka topics',
        `${name} has ${replicas} replicas, HEADRACE_REPLICATION_FACTOR says ${config.replicationFactor}`,
        'reassign its partitions to more brokers (kafka-reassign-partitions)',
      ),
    );
  return found;
}

function checkSettings(
  config: Config,
  key: TopicKey,
  name: string,
  settings: Map<string, string>,
): Finding[] {
  const found: Finding[] = [];
  const alter = (setting: string, value: string | number) =>
    `kafka-configs --alter --topic ${name} --add-config ${setting}=${value}`;
  const cleanup = settings.get('cleanup.policy') ?? '';
  if (cleanup.split(',').sort().join() !== topics[key].cleanup.split(',').sort().join())
    found.push(
      problem(
        'kafka topics',
        `${name}: cleanup.policy is ${cleanup}`,
        alter('cleanup.policy', `[${topics[key].cleanup}]`),
      ),
    );
  if (Number(settings.get('max.message.bytes')) < MAX_RECORD_BATCH)
    found.push(
      problem(
        'kafka topics',
        `${name}: max.message.bytes is ${settings.get('max.message.bytes')}`,
        alter('max.message.bytes', 2 * MAX_RECORD_BATCH),
      ),
    );
  const wantedIsr = Math.max(1, config.replicationFactor - 1);
  if (Number(settings.get('min.insync.replicas')) < wantedIsr)
    found.push(
      warning(
        'kafka topics',
        `${name}: min.insync.replicas is ${settings.get('min.insync.replicas')}`,
        alter('min.insync.replicas', wantedIsr),
      ),
    );
  const retention = Number(settings.get('retention.ms'));
  const wanted = retentionHoursOf(config, key) * 3_600_000;
  if (retention >= 0 && retention < wanted)
    found.push(
      warning(
        'kafka topics',
        `${name}: messages are kept for ${retention / 3_600_000} h only`,
        alter('retention.ms', wanted),
      ),
    );
  return found;
}

/** Kafka does not tell its clock. What a process of ours has written tells the clock of that process. */
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
      warning(
        'clocks of our processes',
        `${name} has a message from the future, by ${Math.round((time - Date.now()) / 1_000)} s`,
        'synchronize the clocks of all machines that run headrace (NTP)',
      ),
    ),
    ok('clocks of our processes', 'no message is from the future'),
  );
}

/** `partitions`: how many each topic has that exists. */
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
            warning(
              'kafka topics',
              `not there yet: ${missing.join(', ')}`,
              'they are created when the API or the pipeline starts, if it may; otherwise create them',
            ),
          ];
    const partitions = new Map<TopicKey, number>();
    if (existing.length === 0) return { findings, partitions };
    const names = existing.map((key) => topicName(config, key));
    const { topics: described } = await admin.fetchTopicMetadata({ topics: names });
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: names.map((name) => ({
        type: TOPIC,
        name,
        configNames: ['cleanup.policy', 'max.message.bytes', 'min.insync.replicas', 'retention.ms'],
      })),
    });
    for (const key of existing) {
      const name = topicName(config, key);
      const entries = resources.find(({ resourceName }) => resourceName === name)!.configEntries;
      const settings = new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
      const topic = described.find((one) => one.name === name)!;
      partitions.set(key, topic.partitions.length);
      findings.push(...checkPartitions(config, key, topic), ...checkSettings(config, key, name, settings));
    }
    const good = ok('kafka topics', `${existing.length} topics, as they should be`);
    const clocks = await checkClocks(config, log, existing);
    return { findings: [...unless(findings, good), ...clocks], partitions };
  } finally {
    await admin.disconnect();
  }
}
