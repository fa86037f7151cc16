/**
 * Takes back jobs whose request is answered with an error. Of dispatch, this, and a process that is about to answer a repetition of
 * the request, exactly one has the job (stores/new-jobs.ts).
 */
import type { JobDocument } from '../../schemas/documents.ts';
import { within } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/log.ts';
import { createRetry } from '../runtime/retry.ts';
import type { NewJobStore } from '../stores/new-jobs.ts';

const NOW_MS = 1_000;
const untilWithdrawn = createRetry(undefined, { when: () => true, firstMs: 500, maxMs: 500, ref: false });

export function createWithdrawal(jobs: Pick<NewJobStore, 'withdraw'>, log: Logger) {
  const background = new Set<Promise<void>>();

  async function untilDone(documents: JobDocument[], inserting?: Promise<unknown>): Promise<void> {
    // An insert that is still under way would come after us otherwise.
    await inserting?.catch(() => {});
    const taken = await untilWithdrawn('withdraw jobs', () => jobs.withdraw(documents));
    if (taken.size > 0)
      log.warn({ jobs: [...taken] }, 'jobs run although their requests were answered with an error');
  }

  /** For when MongoDB itself does not answer: goes on until it does, or the process ends. */
  function inBackground(documents: JobDocument[], inserting?: Promise<unknown>): void {
    if (documents.length === 0) return;
    const task = untilDone(documents, inserting).finally(() => background.delete(task));
    background.add(task);
  }

  return {
    inBackground,
    /** The numbers of those that were taken by dispatch first, and run. */
    async now(documents: JobDocument[]): Promise<Set<number>> {
      try {
        return await within(NOW_MS, jobs.withdraw(documents));
      } catch {
        inBackground(documents);
        return new Set();
      }
    },
    settled: () => Promise.all(background),
  };
}
