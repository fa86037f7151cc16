/**
 * Two copies of every message on every topic, the second a moment later, while jobs run: nothing counts twice. (Replays of whole
 * topics and poison messages: test/invariants/redelivery.test.ts.) FAULT_JOBS sets the number of jobs and, if given, the test also
 * waits for the sweep of what late copies leave behind.
 */
import { createHash } from 'node:crypto';
import { it } from 'vitest';
import { readTopic } from '../../pipeline/kafka/read-topic.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import type { TopicKey } from '../../schemas/topics.ts';
import { waitFor } from '../support/wait-for.ts';
import { setUpFaults } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('duplicates');
const jobs = Number(process.env.FAULT_JOBS ?? 24);
const isLong = process.env.FAULT_JOBS !== undefined;
const topics = ['jobs', 'files', 'rows', 'devices'] as const;
const log = createLogger({ logLevel: 'silent' }, 'copier');

const faults = setUpFaults(random);

/** Sends every message of the topic again, to the same partition, but not its own copies. */
function copyAll(topic: TopicKey, signal: AbortSignal): { done: Promise<void>; copied(): number } {
  const { driver } = faults.service;
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
  timeout: 2_700_000 + jobs * 1_000,
}, async () => {
  const over = new AbortController();
  const copiers = topics.map((topic) => copyAll(topic, over.signal));
  const load = faults.service.load();
  await faults.service.answered(jobs);
  await load.stop();
  // The last messages are copied after their jobs have ended.
  await faults.expectExact();
  await waitFor(() => copiers.every(({ copied }) => copied() > 0), { what: 'copies on every topic' });
  over.abort();
  await Promise.all(copiers.map(({ done }) => done));
  // These messages are behind every late copy: once their jobs are done, all copies have been read.
  for (const lane of faults.service.lanes) await lane.step('small');
  await faults.expectExact({ swept: isLong });
});
