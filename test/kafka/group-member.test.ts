import { expect, it, onTestFinished } from 'vitest';
import { createMember } from '../../pipeline/kafka/group-member.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { parseConfig } from '../../schemas/config.ts';
import { sharedService } from '../support/stack.ts';

/** What becomes of a member whose session timeout is this. */
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

it('brokers that do not accept a short session timeout: the member joins with the one that they accept', async () => {
  expect(await join(999)).toEqual([0, 1, 2, 3]);
});

it('brokers that accept no such session timeout: which settings to look at, instead of trying forever', async () => {
  expect(await join(3_600_000)).toMatchObject({
    name: 'StartRefused',
    message: expect.stringMatching(/^HEADRACE_SESSION_TIMEOUT_MS: the brokers do not accept 3600000/),
  });
});
