/** A fetch that meets a broker which does not lead any more asks who does, and never joins the group: handlers may still work. */
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import '../../pipeline/kafka/patched-kafkajs.ts';

const require = createRequire(import.meta.url);
const ConsumerGroup = require('kafkajs/src/consumer/consumerGroup.js') as {
  prototype: { recoverFromFetch(this: object, error: object): Promise<void> };
};

async function recover(error: object): Promise<string[]> {
  const calls: string[] = [];
  const note = (name: string) => async () => void calls.push(name);
  const group = {
    cluster: { refreshMetadata: note('refresh'), removeBroker: note('remove') },
    joinAndSync: note('join'),
    logger: { debug: () => {}, warn: () => {}, error: () => {}, info: () => {} },
  };
  await ConsumerGroup.prototype.recoverFromFetch.call(group, error);
  return calls;
}

it.each(['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'FENCED_LEADER_EPOCH'])('%s', async (type) => {
  expect(await recover({ type })).toEqual(['refresh']);
});

it.each(['KafkaJSConnectionError', 'KafkaJSRequestTimeoutError', 'KafkaJSBrokerNotFound'])(
  '%s',
  async (name) => {
    expect(await recover({ name })).toEqual(['refresh']);
  },
);

it('a topic that has got partitions is a rebalance, which stops every fetcher first', async () => {
  await expect(recover({ name: 'KafkaJSStaleTopicMetadataAssignment' })).rejects.toMatchObject({
    type: 'REBALANCE_IN_PROGRESS',
  });
});
