/**
 * Takes back jobs whose request is answered with an error. Dispatch claims a job with the same compare-and-set on its
 * phase, so exactly one of the two has it; and so does a process that is about to answer a repetition of the request.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { collections, type JobDocument } from '../../schemas/documents.ts';
import type { Logger } from '../runtime/log.ts';

export interface Withdrawal {
  /** The numbers of those that were taken by dispatch first, and run. */
  now(documents: JobDocument[]): Promise<Set<number>>;
  /** For when MongoDB itself does not answer: goes on until it does, or the process ends. */
  inBackground(documents: JobDocument[], inserting?: Promise<unknown>): void;
  settled(): Promise<void>;
}

/**
 * From now on the job cannot be taken back, however late the process wakes up that is accepting it (no clock could tell when that is
 * over), unless it already was. Null: what became of it cannot be seen yet.
 */
export async function promiseJob(db: Db, { _id, phase }: JobDocument): Promise<JobDocument | null> {
  const jobs = db.collection<JobDocument>(collections.jobs);
  const set = { $set: { promised: true } as const };
  const promised =
    phase === 'accepted' && (await jobs.findOneAndUpdate({ _id, phase }, set, { returnDocument: 'after' }));
  return promised || jobs.findOne({ _id, phase: { $ne: 'accepted' } });
}

const NOW_MS = 1_000;
const PAUSE_MS = 500;

export function createWithdrawal(db: Db, log: Logger): Withdrawal {
  const jobs = db.collection<JobDocument>(collections.jobs);
  const background = new Set<Promise<void>>();

  async function withdraw(documents: JobDocument[]): Promise<Set<number>> {
    // The token too: should our insert not have come through, another process may have the number by now.
    const ours = documents.map(({ _id, requestToken }) => ({ _id, requestToken: requestToken! }));
    await jobs.updateMany(
      { $or: ours, phase: 'accepted', promised: { $ne: true } },
      { $set: { phase: 'withdrawn', credentials: null, updatedAt: new Date() } },
    );
    const taken = await jobs
      .find({ $or: ours, phase: { $ne: 'withdrawn' } }, { projection: { _id: 1 } })
      .toArray();
    return new Set(taken.map(({ _id }) => _id));
  }

  async function untilDone(documents: JobDocument[], inserting?: Promise<unknown>): Promise<void> {
    // An insert that is still under way would come after us otherwise.
    await inserting?.catch(() => {});
    for (;;) {
      try {
        const taken = await withdraw(documents);
        if (taken.size > 0)
          log.warn({ jobs: [...taken] }, 'jobs run although their requests were answered with an error');
        return;
      } catch (error) {
        log.debug({ err: error, jobs: documents.length }, 'jobs not withdrawn yet');
        await sleep(PAUSE_MS, undefined, { ref: false });
      }
    }
  }

  function inBackground(documents: JobDocument[], inserting?: Promise<unknown>): void {
    if (documents.length === 0) return;
    const task = untilDone(documents, inserting).finally(() => background.delete(task));
    background.add(task);
  }

  return {
    inBackground,
    async now(documents) {
      const work = withdraw(documents);
      work.catch(() => {});
      const late = sleep(NOW_MS, undefined, { ref: false }).then(() => {
        throw new Error('no answer');
      });
      late.catch(() => {});
      try {
        return await Promise.race([work, late]);
      } catch {
        inBackground(documents);
        return new Set();
      }
    },
    async settled() {
      await Promise.all(background);
    },
  };
}
