/**
 * Withdraws jobs whose request gets an error, unless dispatch has claimed them or another process is about to answer a retry of the
 * request (stores/jobs/new-jobs.ts).
 */

import { createRetry } from '../../pipeline/engine/retry.ts';
import { withDeadline } from '../../pipeline/runtime/deadline.ts';
import type { Logger } from '../../pipeline/runtime/log.ts';
import type { JobStore } from '../../pipeline/stores/jobs/jobs.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';

const NOW_MS = 1_000;
const untilWithdrawn = createRetry(undefined, { when: () => true, firstMs: 500, maxMs: 500, ref: false });

export function createWithdrawal(jobs: Pick<JobStore, 'withdraw'>, log: Logger) {
  const background = new Set<Promise<void>>();

  async function untilDone(documents: JobDocument[], inserting?: Promise<unknown>): Promise<void> {
    // Otherwise an insert in flight would land after the withdrawal.
    await inserting?.catch(() => {});
    const taken = await untilWithdrawn('withdraw jobs', () => jobs.withdraw(documents));
    if (taken.size > 0)
      log.warn(
        { jobs: [...taken] },
        'jobs run although their requests got an error: dispatch had claimed them',
      );
  }

  /** Retries until MongoDB responds or the process ends. */
  function inBackground(documents: JobDocument[], inserting?: Promise<unknown>): void {
    if (documents.length === 0) return;
    const task = untilDone(documents, inserting).finally(() => background.delete(task));
    background.add(task);
  }

  return {
    inBackground,
    /** Returns the numbers of the jobs that dispatch had claimed: those will run. */
    async now(documents: JobDocument[]): Promise<Set<number>> {
      try {
        return await withDeadline(NOW_MS, jobs.withdraw(documents));
      } catch {
        inBackground(documents);
        return new Set();
      }
    },
    settled: () => Promise.all(background),
  };
}
