import { expect, it, onTestFinished, vi } from 'vitest';
import { createMember } from '../../pipeline/kafka/group-member.ts';
import { createPublisher } from '../../pipeline/kafka/publish.ts';
import { ensureTopics } from '../../pipeline/kafka/topics.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { parseConfig } from '../../schemas/config.ts';
import { dropData } from '../support/settings.ts';
import { sharedService, uniqueEnvironment } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

/** The assignment, or the fatal error, of a member with this session timeout. */
async function join(sessionTimeoutMs: number): Promise<number[] | unknown> {
  const { env } = await sharedService();
  const config = { ...parseConfig(env), groupPrefix: `timeout-${sessionTimeoutMs}`, sessionTimeoutMs };
  const log = createLogger({ logLevel: 'silent' }, 'test');
  const member = createMember(config, log, { name: 'split', input: 'files' });
  onTestFinished(() => member.leave());
  return new Promise((resolve) =>
    member.join({
      ...{ onBatch: async () => {}, onReplaced: () => {} },
      ...{ onAssigned: resolve, onFatal: resolve },
    }),
  );
}

it('a member that waits forever and sends no heartbeats is replaced, and its messages are delivered again', async () => {
  const env = uniqueEnvironment();
  onTestFinished(() => dropData(env));
  const config = { ...parseConfig(env), sessionTimeoutMs: 1_000 };
  const log = createLogger({ logLevel: 'silent' }, 'test');
  await waitFor(() => ensureTopics(config, log).then(() => true), { what: 'the topics' });
  const publisher = createPublisher(config, log);
  onTestFinished(() => publisher.close());
  await waitFor(() => publisher.connect().then(() => true), { what: 'a connection' });
  await publisher.send('files', [{ partition: 0, key: 'x', value: Buffer.alloc(1) }]);
  const member = createMember(config, log, { name: 'split', input: 'files' });
  let deliveries = 0;
  const onReplaced = vi.fn();
  await new Promise<void>((resolve, reject) =>
    member.join({
      onBatch: () => (++deliveries === 1 ? new Promise(() => {}) : Promise.resolve(resolve())),
      onAssigned: () => {},
      onReplaced,
      onFatal: reject,
    }),
  );
  expect(onReplaced).toHaveBeenCalled();
  await member.leave();
});

it('brokers that do not accept a short session timeout: the member joins with the one that they accept', async () => {
  expect(await join(999)).toEqual([0, 1, 2, 3]);
});

it('brokers that accept no such session timeout: which settings to look at, instead of trying forever', async () => {
  expect(await join(3_600_000)).toMatchObject({
    name: 'StartRefused',
    message: expect.stringMatching(/^HEADRACE_SESSION_TIMEOUT_MS: the brokers do not accept 3600000/),
  });
});
