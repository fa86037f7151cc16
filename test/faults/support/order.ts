/** Watches the order of ends while everything runs: a job that has ended has no unfinished one of its partner before it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import type { Driver } from '../../support/driver.ts';
import { unfinished } from './settle.ts';

export interface OrderWatch {
  /** What was out of order so far. */
  seen(): readonly string[];
  /** Ends the watch and tells what was out of order. */
  stop(): Promise<string[]>;
}

export function watchOrder({ db, jobs }: Driver, everyMs = 150): OrderWatch {
  const wrong: string[] = [];
  let stopped = false;

  async function look(session: ClientSession): Promise<void> {
    const last = await jobs
      .aggregate<{ _id: string; job: number }>(
        [{ $match: { phase: 'ended' } }, { $group: { _id: '$partner', job: { $max: '$_id' } } }],
        { session },
      )
      .toArray();
    // Asked after the other: what is unfinished now was unfinished then. The session keeps it so when another member is primary now.
    const open = await jobs.find(unfinished, { session, projection: { partner: 1 } }).toArray();
    for (const { _id: partner, job } of last)
      for (const other of open)
        if (other.partner === partner && other._id < job)
          wrong.push(`job ${job} had ended, job ${other._id} of the same partner had not`);
  }

  const watching = (async () => {
    while (!stopped) {
      // MongoDB may be away: there is nothing to see then.
      await db.client.withSession({ causalConsistency: true }, look).catch(() => {});
      await sleep(everyMs);
    }
  })();
  return {
    seen: () => wrong,
    async stop() {
      stopped = true;
      await watching;
      return wrong;
    },
  };
}
