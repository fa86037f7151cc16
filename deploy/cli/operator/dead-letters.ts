/**
 * Dead letters are messages that a stage could not decode, for example from a newer version during a rolling upgrade. Once the stages
 * can decode them, they are republished to their partition.
 */

import { asking, findTopics, withCluster } from '../../../pipeline/kafka/cluster.ts';
import { commitOffset, committedOffsets } from '../../../pipeline/kafka/offsets.ts';
import type { OutgoingMessage } from '../../../pipeline/kafka/publish.ts';
import { readTopic } from '../../../pipeline/kafka/read-topic.ts';
import { groupName, topicName } from '../../../pipeline/kafka/topics.ts';
import type { Logger } from '../../../pipeline/runtime/log.ts';
import { MalformedMessage } from '../../../pipeline/wire/codec.ts';
import type { OperatorConfig } from '../../../schemas/config.ts';
import { type MessageTypes, type TopicKey, topics } from '../../../schemas/topics.ts';
import { tryDecode } from './describe-message.ts';

/** The broker's limit (offset.metadata.max.bytes: 4096). A range cut off here is republished twice, which is harmless. */
const MAX_METADATA = 4_000;

type Range = [first: bigint, last: bigint];
const parse = (metadata: string): Range[] =>
  [...metadata.matchAll(/\b(\d+)-(\d+)/g)].map(([, first, last]) => [BigInt(first!), BigInt(last!)]);

/**
 * Tracks which dead letters were republished: all before the committed offset of a consumer group, and ranges after it, stored as the
 * offset's metadata. An empty group keeps its offsets for longer than the topic keeps its letters.
 */
interface PutBack {
  /** All letters before this offset were republished. */
  before(): bigint;
  has(offset: bigint): boolean;
  /** Call it in offset order, then `save`. */
  add(offset: bigint): void;
  leave(offset: bigint): void;
  save(): Promise<void>;
}

function createPutBack(config: OperatorConfig, log: Logger): Promise<PutBack> {
  const name = topicName(config, 'deadLetters');
  const group = groupName(config, 'dead-letters');
  return withCluster(config, log, async (cluster) => {
    await findTopics(cluster, [name]);
    const committed = await asking(cluster, () => committedOffsets(cluster, group, name));
    const { offset: start = 0n, metadata = '' } = committed.get(0) ?? {};
    const ranges = parse(metadata);
    let firstLeft: bigint | undefined;
    let next = start;

    function add(offset: bigint): void {
      next = offset + 1n;
      const last = ranges.find(([, end]) => end + 1n === offset);
      if (last) last[1] = offset;
      else ranges.push([offset, offset]);
    }

    return {
      before: () => start,
      has: (offset) => ranges.some(([first, last]) => first <= offset && offset <= last),
      add,
      leave(offset) {
        firstLeft ??= offset;
        next = offset + 1n;
      },
      save: () =>
        withCluster(config, log, async (again) => {
          const ended = ranges.reduce((end, [, last]) => (last >= end ? last + 1n : end), next);
          const offset = firstLeft ?? ended;
          const behind = ranges
            .filter(([first]) => first > offset)
            .map(([first, last]) => `${first}-${last}`)
            .join(' ');
          const at = { partition: 0, offset: String(offset), metadata: behind.slice(0, MAX_METADATA) };
          await findTopics(again, [name]);
          await asking(again, () => commitOffset(again, group, name, at));
        }),
    };
  });
}

interface Letter {
  offset: bigint;
  /** Its origin, as topic/partition@offset. */
  origin: string;
  /** The message to publish, or why it still cannot be published. */
  outgoing: { topic: TopicKey; message: OutgoingMessage } | string;
}

function outgoingOf(config: OperatorConfig, letter: MessageTypes['DeadLetter']): Letter['outgoing'] {
  const { partition, key, value } = letter;
  const topic = (Object.keys(topics) as TopicKey[]).find((one) => topicName(config, one) === letter.topic);
  if (topic === undefined || topics[topic].reader === null) return `no stage reads ${letter.topic}`;
  const decoded = tryDecode(topic, value);
  if (decoded instanceof MalformedMessage) return decoded.message;
  return { topic, message: { partition, key: key?.toString() ?? '', value } };
}

/** Visits the letters not republished yet, and records those that `visit` republishes. */
export async function visitLetters(
  config: OperatorConfig,
  log: Logger,
  visit: (letter: Letter) => Promise<void> | void,
): Promise<PutBack> {
  const putBack = await createPutBack(config, log);
  const visitOne = async (offset: bigint, letter: MessageTypes['DeadLetter']) => {
    const origin = `${letter.topic}/${letter.partition}@${letter.offset}`;
    const outgoing = outgoingOf(config, letter);
    await visit({ offset, origin, outgoing });
    if (typeof outgoing === 'string') putBack.leave(offset);
    else putBack.add(offset);
  };
  await readTopic(
    config,
    log,
    'deadLetters',
    async (message) => {
      const offset = BigInt(message.offset);
      if (putBack.has(offset)) return;
      const letter = tryDecode('deadLetters', message.value);
      if (!(letter instanceof MalformedMessage) && letter.name === 'DeadLetter')
        await visitOne(offset, letter.value);
    },
    { from: { offset: putBack.before() } },
  );
  return putBack;
}
