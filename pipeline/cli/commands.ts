/** `headrace tap` and `headrace replay`: print the messages of a topic, or publish them again. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { pino } from 'pino';
import { type Config, parseConfig } from '../../schemas/config.ts';
import { type MessageName, type TopicKey, topics, type ValidatedDevices } from '../../schemas/topics.ts';
import { createPublisher } from '../kafka/publish.ts';
import { type ReadMessage, readTopic } from '../kafka/read-topic.ts';
import { topicName } from '../kafka/topics.ts';
import { createLogger } from '../runtime/log.ts';
import { decode } from '../wire/codec.ts';
import { decodeGroups } from '../wire/device-groups.ts';

type LoadEnvironment = (stateDir?: string) => Record<string, string | undefined>;

const topicKeys = Object.keys(topics) as TopicKey[];
function topicArgument(given: string): TopicKey {
  const found = topicKeys.find((key) =>
    [key, topics[key].name, `ingest.${topics[key].name}`].includes(given),
  );
  if (!found)
    throw new InvalidArgumentError(`expected one of ${topicKeys.map((key) => topics[key].name).join(', ')}`);
  return found;
}

/** On standard error: standard output has the messages and nothing else. */
const quietLogger = (name: string) => createLogger({ logLevel: 'error' }, name, pino.destination(2));

/** Keeps the output readable: bytes are printed as their length, devices as their number. */
function readable(_: string, value: unknown): unknown {
  if (
    value !== null &&
    typeof value === 'object' &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value
  ) {
    return `${(value.data as number[]).length} bytes`;
  }
  if (ArrayBuffer.isView(value)) return `${value.byteLength / 16} devices`;
  return value;
}

export function line(topic: TopicKey, { partition, offset, timestamp, key, value }: ReadMessage): string {
  const where = { partition, offset, at: timestamp.toISOString(), key: key?.toString() ?? null };
  try {
    const message = decode(value, topics[topic].holds as readonly MessageName[]);
    if (message.name === 'ValidatedDevices') {
      const { more = [], ...first } = message.value;
      const counted = <T extends Pick<ValidatedDevices, 'groups'>>(batch: T) => ({
        ...batch,
        groups: decodeGroups(batch.groups).map(({ key, devices }) => ({ key, devices: devices.length / 16 })),
      });
      const value = { ...counted(first), ...(more.length > 0 ? { more: more.map(counted) } : {}) };
      return JSON.stringify({ ...where, type: message.name, value });
    }
    return JSON.stringify({ ...where, type: message.name, value: message.value }, readable);
  } catch (error) {
    return JSON.stringify({ ...where, error: (error as Error).message });
  }
}

export async function replay(config: Config, topic: TopicKey): Promise<number> {
  const log = quietLogger('replay');
  const publisher = createPublisher(config, log);
  await publisher.connect();
  let count = 0;
  try {
    await readTopic(config, log, topic, async ({ partition, key, value }) => {
      if (value === null) return;
      await publisher.send(topic, [{ partition, key: key?.toString() ?? '', value }]);
      count++;
    });
  } finally {
    await publisher.close();
  }
  return count;
}

export function registerPipelineCommands(program: Command, loadEnvironment: LoadEnvironment): void {
  const state = () =>
    new Option('--state <dir>', 'use the local stack in this state folder instead of the environment');

  program
    .command('tap')
    .description('print the messages of a topic, decoded, one JSON object per line')
    .argument('<topic>', topicKeys.map((key) => topics[key].name).join(', '), topicArgument)
    .option('--follow', 'keep printing new messages until Ctrl-C')
    .addOption(state())
    .action(async (topic: TopicKey, options: { follow?: boolean; state?: string }) => {
      const config = parseConfig(loadEnvironment(options.state));
      const stop = new AbortController();
      process.once('SIGINT', () => stop.abort());
      const show = (message: ReadMessage) => void process.stdout.write(`${line(topic, message)}\n`);
      const reading = { follow: options.follow ?? false, signal: stop.signal };
      await readTopic(config, quietLogger('tap'), topic, show, reading);
    });

  program
    .command('replay')
    .description('publish all messages of a topic again (safe: counts and device sets do not change)')
    .argument('<topic>', topicKeys.map((key) => topics[key].name).join(', '), topicArgument)
    .option('--json', 'print the result as JSON')
    .addOption(state())
    .action(async (topic: TopicKey, options: { json?: boolean; state?: string }) => {
      const config = parseConfig(loadEnvironment(options.state));
      const messages = await replay(config, topic);
      const name = topicName(config, topic);
      process.stdout.write(
        options.json
          ? `${JSON.stringify({ topic: name, messages })}\n`
          : `published ${messages} messages of ${name} again\n`,
      );
    });
}
