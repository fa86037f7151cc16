import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import '../../pipeline/kafka/patched-kafkajs.ts';

const require = createRequire(import.meta.url);
const ConsumerGroup = require('kafkajs/src/consumer/consumerGroup.js') as {
  prototype: {
    recoverFromFetch(this: object, error: object): Promise<void>;
    joinAndSync(this: object): Promise<void>;
  };
};

/** A fetch from a former leader refreshes the metadata and does not rejoin the group: handlers may still be working. */
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

it('a member that is expelled joins with twice the session timeout, up to 30 s; a rebalance changes nothing', async () => {
  const group = { sessionTimeout: 4_000, memberId: null, generationId: null, logger: { error: () => {} } };
  const join = async (state: { memberId: string | null; generationId: number | null }) => {
    const joining = { ...group, ...state, retrier: async () => {} };
    await ConsumerGroup.prototype.joinAndSync.call(joining);
    group.sessionTimeout = joining.sessionTimeout;
    return group.sessionTimeout;
  };
  expect(await join({ memberId: null, generationId: null })).toBe(4_000);
  expect(await join({ memberId: 'a', generationId: 1 })).toBe(4_000);
  const expelled = { memberId: null, generationId: 2 };
  const timeouts = [await join(expelled), await join(expelled), await join(expelled), await join(expelled)];
  expect(timeouts).toEqual([8_000, 16_000, 30_000, 30_000]);
});
