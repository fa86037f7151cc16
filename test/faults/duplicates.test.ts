/**
 * Two copies of every message on every topic, the second some moments after the first, while jobs run: nothing is counted twice. (Whole
 * topics replayed, and poison on each of them: test/invariants/redelivery.test.ts.) FAULT_JOBS makes it more of them, and waits for the
 * sweep of what late copies left behind.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { readTopic } from '../../pipeline/runtime/read-topic.ts';
import type { TopicKey } from '../../schemas/topics.ts';
import { servers, waitFor } from '../support/stack.ts';
import { newLogFolder } from './support/logs.ts';
import { roundSeed } from './support/random.ts';
import { type FaultService, startFaultService } from './support/service.ts';
import { violationsOf } from './support/settle.ts';

const random = roundSeed('duplicates');
const jobs = Number(process.env.FAULT_JOBS ?? 24);
const isLong = process.env.FAULT_JOBS !== undefined;
const topics = ['jobs', 'files', 'rows', 'devices'] as const;
const log = createLogger({ logLevel: 'silent' }, 'copier');

let service: FaultService;
beforeAll(async () => {
  const logs = newLogFolder();
  service = await startFaultService(servers(), { logs, random: random.fork() });
});
afterAll(() => service?.close());

/** Sends every message of the topic again, to the same partition, and leaves its own copies alone. */
function copyAll(topic: TopicKey, signal: AbortSignal): { done: Promise<void>; copied(): number } {
  const { driver } = service;
  const ours = new Map<string, number>();
  let copied = 0;
  const done = readTopic(
    driver.config,
    log,
    topic,
    async ({ partition, key, value }) => {
      const name = `${partition} ${createHash('sha256').update(value!).digest('base64')}`;
      const mine = ours.get(name) ?? 0;
      if (mine > 0) {
        ours.set(name, mine - 1);
        return;
      }
      ours.set(name, 1);
      copied++;
      await driver.publisher.send(topic, [{ partition, key: key!.toString(), value: value! }]);
    },
    { follow: true, signal },
  );
  return { done, copied: () => copied };
}

it('two copies of every message: every job ends as the oracle says', {
  timeout: 120_000 + jobs * 1_000,
}, async () => {
  const over = new AbortController();
  const copiers = topics.map((topic) => copyAll(topic, over.signal));
  const load = service.load();
  await service.answered(jobs);
  await load.stop();
  // Those that came last are copied after their jobs' end.
  expect(await violationsOf(service.driver, service.lanes, { swept: false })).toEqual([]);
  await waitFor(() => copiers.every(({ copied }) => copied() > 0), { what: 'copies on every topic' });
  over.abort();
  await Promise.all(copiers.map(({ done }) => done));
  // Behind every late copy, so all of them have been read when these are done.
  for (const lane of service.lanes) await lane.step('small');
  expect(await violationsOf(service.driver, service.lanes, { swept: isLong })).toEqual([]);
});
