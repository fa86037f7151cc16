/** Republishes messages to their partitions in bounded batches. */

import { createPublisher, type OutgoingMessage } from '../../../pipeline/kafka/publish.ts';
import type { Logger } from '../../../pipeline/runtime/log.ts';
import type { OperatorConfig } from '../../../schemas/config.ts';
import type { TopicKey } from '../../../schemas/topics.ts';

const MAX_BYTES = 2_000_000;
const MAX_MESSAGES = 1_000;

interface Republisher {
  add(topic: TopicKey, message: OutgoingMessage): Promise<void>;
  /** Resolves when the brokers have everything. */
  flush(): Promise<void>;
}

export async function publishAgain(
  config: OperatorConfig,
  log: Logger,
  work: (republisher: Republisher) => Promise<void>,
): Promise<number> {
  const publisher = createPublisher(config, log);
  await publisher.connect();
  const waiting = new Map<TopicKey, OutgoingMessage[]>();
  let [bytes, held, count] = [0, 0, 0];

  async function flush(): Promise<void> {
    for (const [topic, messages] of waiting) await publisher.send(topic, messages);
    waiting.clear();
    count += held;
    [bytes, held] = [0, 0];
  }

  try {
    await work({
      flush,
      async add(topic, message) {
        const others = waiting.get(topic);
        if (others) others.push(message);
        else waiting.set(topic, [message]);
        bytes += message.value.length;
        held++;
        if (bytes >= MAX_BYTES || held >= MAX_MESSAGES) await flush();
      },
    });
    await flush();
  } finally {
    await publisher.close();
  }
  return count;
}
