/** Watches the order of ends while everything runs: a job that has ended has no unfinished one before it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession, Filter } from 'mongodb';
import type { JobDocument } from '../../../schemas/documents.ts';
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
    const last = await jobs.find({ phase: 'ended' }, { session }).sort({ _id: -1 }).limit(1).next();
    if (!last) return;
    // Asked after the other: what is unfinished now was unfinished then. The session keeps it so when another member is primary now.
    const earlier: Filter<JobDocument> = {
      ...unfinished,
      deferred: { $exists: false },
      _id: { $lt: last._id },
    };
    const open = await jobs.findOne(earlier, { session });
    if (open) wrong.push(`job ${last._id} had ended, job ${open._id} had not`);
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
