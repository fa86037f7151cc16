/** Watches the order of ends while everything runs: a job that has ended has no unfinished one before it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Filter } from 'mongodb';
import type { JobDocument } from '../../../schemas/documents.ts';
import type { Driver } from '../../support/driver.ts';

export interface OrderWatch {
  /** What was out of order so far. */
  seen(): readonly string[];
  /** Ends the watch and tells what was out of order. */
  stop(): Promise<string[]>;
}

export function watchOrder({ jobs }: Driver, everyMs = 50): OrderWatch {
  const wrong: string[] = [];
  let stopped = false;

  async function look(): Promise<void> {
    const last = await jobs.find({ phase: 'ended' }).sort({ _id: -1 }).limit(1).next();
    if (!last) return;
    // Asked after the other: what is unfinished now was unfinished then.
    const earlier: Filter<JobDocument> = {
      _id: { $lt: last._id },
      phase: { $in: ['accepted', 'loading', 'sealed'] },
    };
    const open = await jobs.findOne(earlier);
    if (open) wrong.push(`job ${last._id} had ended, job ${open._id} had not`);
  }

  const watching = (async () => {
    while (!stopped) {
      await look().catch(() => {}); // MongoDB may be away: there is nothing to see then.
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
