/**
 * Dead letters are messages that a stage could not decode, for example from a newer version during a rolling upgrade. Once the stages
 * can decode them, they are republished to their partition.
 */

import type { OutgoingMessage } from '../../../pipeline/kafka/publish.ts';
import { readTopic } from '../../../pipeline/kafka/read-topic.ts';
import { topicName } from '../../../pipeline/kafka/topics.ts';
import type { Logger } from '../../../pipeline/runtime/log.ts';
import { MalformedMessage } from '../../../pipeline/wire/codec.ts';
import type { OperatorConfig } from '../../../schemas/config.ts';
import { type MessageTypes, type TopicKey, topics } from '../../../schemas/topics.ts';
import { tryDecode } from './describe-message.ts';
import { createPutBack, type PutBack } from './put-back.ts';

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
