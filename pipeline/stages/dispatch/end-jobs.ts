/** Ends a job that every slot has merged: sums the slots' counts and writes the results. */

import { type FileFailure, type JobDocument, type JobError, JobStatus } from '../../../schemas/documents.ts';
import type { AckDocument } from '../../../schemas/stage-documents.ts';
import { SLOTS } from '../../../schemas/topics.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Step } from '../../runtime/step.ts';
import { pagesIn } from '../../stores/acks.ts';
import type { JobOutcome } from '../../stores/jobs.ts';
import { StaleRead } from '../../stores/stale-read.ts';
import type { Stores } from '../../stores/stores.ts';

export interface Ending {
  job: JobDocument;
  outcome: JobOutcome;
}

interface Dependencies
  extends Pick<Stores, 'jobs' | 'files' | 'audiences' | 'ledger' | 'acks' | 'checks' | 'verdicts'> {
  log: Logger;
}

export type EndJobs = ReturnType<typeof createEndJobs>;

/** Longer than a stage goes on believing that a job is wanted: what is redelivered meanwhile is forgotten too. */
const FORGET_MS = 2_000;

export function createEndJobs({ log, jobs, files, ledger, acks, checks, verdicts, audiences }: Dependencies) {
  /** Ended jobs whose ledger is to be cleared: together, a moment later. */
  const ended: number[] = [];
  let clearing: NodeJS.Timeout | undefined;
  function forgetSoon(jobs: number[], step: Step<'dispatch'>): void {
    ended.push(...jobs);
    clearing ??= setTimeout(() => {
      clearing = undefined;
      const some = ended.splice(0);
      step('forget', () =>
        Promise.all([ledger, acks, checks, verdicts].map((store) => store.forget(some))),
      ).catch((error) => log.debug({ err: error }, 'the ledger of ended jobs is left to the sweep'));
    }, FORGET_MS);
    clearing.unref();
  }

  async function updateAudience(
    job: JobDocument,
    acked: AckDocument[],
    errors: JobError[] | null,
  ): Promise<void> {
    const { accepted, failed } = await files.summaryOf(job.audience!, job.generation!);
    await audiences.recordLoad(job, {
      uniqueDevices: sum(acked, 'audienceDevices'),
      matchedDevices: sum(acked, 'matchedDevices'),
      uploadedDevices: accepted,
      someFileFailed: failed,
      errors,
    });
  }

  /**
   * Found from jobs that have ended, which nothing changes any more: who ends the job twice, or after a crash, finds the same.
   * Unknown behind a load from before this was recorded.
   */
  async function growthOf(
    job: JobDocument,
    acked: AckDocument[],
    step: Step<'dispatch'>,
  ): Promise<Pick<JobOutcome, 'audienceDevices' | 'newDevices'>> {
    if (job.audience === null) return {};
    const before = await step.read('read the load before', () => jobs.loadBefore(job));
    const devicesBefore = before ? before.audienceDevices : 0;
    // Not what the slots say: the data of a cleared audience may be gone by now.
    if (job.verdict!.passed.length === 0) return { audienceDevices: devicesBefore, newDevices: 0 };
    const audienceDevices = sum(acked, 'audienceDevices');
    if (devicesBefore === undefined) return { audienceDevices };
    return { audienceDevices, newDevices: audienceDevices - devicesBefore };
  }

  /** Only asked for when every slot has merged the job. Null: another dispatcher has ended it, and cleared them. */
  async function allAcks(job: number): Promise<AckDocument[] | null> {
    const found = await acks.ofJob(job);
    if (found.length === SLOTS) return found;
    if ((await jobs.endedAmong([job])).has(job)) return null;
    throw new StaleRead(`${found.length} slots have acknowledged job ${job}`);
  }

  /** Distinct pairs by file over all slots: at once, or page by page where there are pages. */
  async function* pagesOfPairs(
    acked: AckDocument[],
    step: Step<'dispatch'>,
  ): AsyncGenerator<Map<number, number>> {
    for (const page of pagesIn(acked)) {
      const pairs = await step.read('read pairs by file', () => acks.filePairs(acked, page));
      if (pairs.size > 0) yield pairs;
    }
  }

  return {
    /** Everything but the end itself: may be done before earlier jobs have ended. Null: it has ended already. */
    async conclude(job: JobDocument, step: Step<'dispatch'>): Promise<JobOutcome | null> {
      const acked = await step.read('read the acks', () => allAcks(job._id));
      if (!acked) return null;
      const { errors } = job;
      const listing = job.listing!;
      for await (const pairs of pagesOfPairs(acked, step))
        await step('duplicates', () => files.recordDistinctPairs({ listing, pairs }));
      // Nothing of it was merged, so no file of it is loaded, whatever was decided of the file itself.
      const wholeFailure = errors?.find(({ file }) => file === undefined);
      if (job.listing && wholeFailure && job.verdict!.passed.length === 0) {
        const { code, message } = wholeFailure;
        await step('fail-files', () => files.failAll(listing, { code, message } as FileFailure));
      }
      if (job.audience !== null) await step('audience', () => updateAudience(job, acked, errors));
      return {
        status: errors ? JobStatus.error : JobStatus.done,
        uniqueDevices: sum(acked, 'uniqueDevices'),
        rows: job.kind === 'delete' ? sum(acked, 'pairs') : job.rows,
        errors,
        ...(await growthOf(job, acked, step)),
      };
    },

    /** Jobs in their order; null for one that had ended before. */
    async end(endings: (Ending | null)[], step: Step<'dispatch'>): Promise<(JobDocument | null)[]> {
      const open = endings.filter((ending) => ending !== null);
      if (open.length === 0) return endings.map(() => null);
      const ended = await step('end', () =>
        jobs.end(open.map(({ job, outcome }) => ({ id: job._id, outcome }))),
      );
      // Nothing asks for these again; should the process die first, the sweep finds them.
      forgetSoon(
        ended.map(({ _id }) => _id),
        step,
      );
      const byId = new Map(ended.map((job) => [job._id, job]));
      return endings.map((ending) => (ending ? byId.get(ending.job._id)! : null));
    },
  };
}

function sum(
  acked: AckDocument[],
  field: 'uniqueDevices' | 'pairs' | 'audienceDevices' | 'matchedDevices',
): number {
  return acked.reduce((total, ack) => total + ack[field], 0);
}
