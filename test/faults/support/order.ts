/** Watches the order of ends while jobs run: no job ends before an earlier job of the same partner. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import type { Driver } from '../../support/driver.ts';
import { unfinished } from './settle.ts';

export interface OrderWatch {
  /** Violations so far. */
  seen(): readonly string[];
  /** Stops watching and returns the violations. */
  stop(): Promise<string[]>;
}

export function watchOrder({ db, jobs }: Driver, everyMs = 150): OrderWatch {
  const wrong: string[] = [];
  let stopped = false;
  let looks = 0;
  let newestEnd: number | undefined;
  let problem: unknown;
  /** A watch that saw nothing proves nothing. */
  const violations = () => (looks > 0 ? wrong : [...wrong, `the order of ends was never read: ${problem}`]);

  async function look(session: ClientSession): Promise<void> {
    const newest = await jobs.findOne(
      { endNumber: { $exists: true } },
      { session, sort: { endNumber: -1 }, projection: { endNumber: 1 } },
    );
    // Without another end there is nothing new to see. Most looks end here, after one entry of an index.
    if (looks > 0 && newest?.endNumber === newestEnd) return;
    const last = await jobs
      .aggregate<{ _id: string; job: number }>(
        [{ $match: { phase: 'ended' } }, { $group: { _id: '$partner', job: { $max: '$_id' } } }],
        { session },
      )
      .toArray();
    // Read last: a job that is unfinished now was unfinished before. Causal consistency keeps this true across a failover.
    const open = await jobs.find(unfinished, { session, projection: { partner: 1 } }).toArray();
    for (const { _id: partner, job } of last)
      for (const other of open)
        if (other.partner === partner && other._id < job)
          wrong.push(`job ${job} had ended, job ${other._id} of the same partner had not`);
    newestEnd = newest?.endNumber;
    looks++;
  }

  const watching = (async () => {
    while (!stopped) {
      // While MongoDB is down there is nothing to see.
      await db.client.withSession({ causalConsistency: true }, look).catch((error) => {
        problem = error;
      });
      await sleep(everyMs);
    }
  })();
  return {
    seen: violations,
    async stop() {
      stopped = true;
      await watching;
      return violations();
    },
  };
}
