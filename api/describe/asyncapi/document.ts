/** The AsyncAPI document: the topics and their messages, from the same definitions as the topics themselves. */
import { retentionHoursOf } from '../../../pipeline/kafka/topics.ts';
import type { Config } from '../../../schemas/config.ts';
import {
  type MessageName,
  messages,
  type TopicContract,
  type TopicKey,
  topics,
  versionsOf,
} from '../../../schemas/topics.ts';
import { examples, readable } from './examples.ts';

export type DescribedTopics = Pick<
  Config,
  'topicPrefix' | 'partitions' | 'replicationFactor' | 'retentionHours' | 'retentionDaysJobs' | 'publicUrl'
>;

const bindingVersion = '0.5.0';
const contentType = 'avro/binary';
const schemaFormat = 'application/vnd.apache.avro+json;version=1.9.0';
const reference = (...path: string[]) => ({ $ref: `#/${path.join('/')}` });
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

const introduction = (config: DescribedTopics) =>
  `The Kafka topics of headrace. Values are Avro in the Confluent wire format: a zero byte, the id of the schema in four bytes, the value. The schemas are in the schema registry at ${config.publicUrl ?? 'the base URL of the API'}. Read any topic with your own consumer group; never write. Delivery is at least once, so a message may appear again.`;

function describeMessage(name: MessageName, topic: TopicContract) {
  const { id, schema } = messages[name];
  return {
    name,
    title: name,
    summary: (schema as { doc?: string }).doc,
    contentType,
    payload: { schemaFormat, schema },
    bindings: {
      kafka: {
        key: { type: 'string', description: topic.key },
        schemaIdLocation: 'payload',
        schemaIdPayloadEncoding: 'confluent',
        bindingVersion,
      },
    },
    examples: [{ name: 'example', payload: readable(examples[name]) }],
    'x-schema-id': id,
    'x-schema-ids-of-all-versions': versionsOf(name).map((version) => version.id),
  };
}

function describeChannel(key: TopicKey, config: DescribedTopics) {
  const { name, purpose, holds, partitions, cleanup }: TopicContract = topics[key];
  const topic = `${config.topicPrefix}.${name}`;
  return {
    address: topic,
    description: purpose,
    messages: Object.fromEntries(holds.map((each) => [each, reference('components', 'messages', each)])),
    bindings: {
      kafka: {
        topic,
        partitions: partitions === 'many' ? config.partitions : partitions,
        replicas: config.replicationFactor,
        topicConfiguration: {
          'cleanup.policy': cleanup.split(','),
          'retention.ms': retentionHoursOf(config, key) * 3_600_000,
        },
        bindingVersion,
      },
    },
  };
}

function* describeOperations(key: TopicKey) {
  const { name, writers, reader }: TopicContract = topics[key];
  const channel = reference('channels', key);
  for (const writer of writers)
    yield [
      `${writer}Writes${capital(key)}`,
      { action: 'send', channel, summary: `${writer} writes ${name}.` },
    ];
  if (reader)
    yield [
      `${reader}Reads${capital(key)}`,
      { action: 'receive', channel, summary: `${reader} reads ${name}.` },
    ];
}

export function createAsyncApi(config: DescribedTopics) {
  const keys = Object.keys(topics) as TopicKey[];
  const server = {
    host: '{brokers}',
    protocol: 'kafka',
    description: 'The brokers of the deployment.',
    variables: {
      brokers: { description: 'The value of HEADRACE_KAFKA_BROKERS.', examples: ['127.0.0.1:9092'] },
    },
    ...(config.publicUrl
      ? {
          bindings: {
            kafka: { schemaRegistryUrl: config.publicUrl, schemaRegistryVendor: 'confluent', bindingVersion },
          },
        }
      : {}),
  };
  return {
    asyncapi: '3.1.0',
    id: 'urn:headrace:topics',
    info: {
      title: 'headrace topics',
      version: '1.0.0',
      description: introduction(config),
    },
    defaultContentType: contentType,
    servers: { kafka: server },
    channels: Object.fromEntries(keys.map((key) => [key, describeChannel(key, config)])),
    operations: Object.fromEntries(keys.flatMap((key) => [...describeOperations(key)])),
    components: {
      messages: Object.fromEntries(
        keys.flatMap((key) =>
          topics[key].holds.map((name) => [name, describeMessage(name, topics[key] as TopicContract)]),
        ),
      ),
    },
  };
}
