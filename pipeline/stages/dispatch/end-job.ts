/** Ends a job that every slot has merged: sums the slots' counts, holds them against the ledger, and writes the results. */

import type { Db } from 'mongodb';
import {
  type AckDocument,
  type AudienceDocument,
  collections,
  type JobDocument,
  type JobError,
  JobStatus,
} from '../../../schemas/documents.ts';
import { SLOTS } from '../../../schemas/topics.ts';
import { faultPoint } from '../../runtime/fault-points.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Retry } from '../../runtime/retry.ts';
import type { AckStore } from '../../stores/acks.ts';
import type { FileStore } from '../../stores/files.ts';
import type { JobOutcome, JobStore } from '../../stores/jobs.ts';
import type { LedgerStore } from '../../stores/ledger.ts';
import { StaleRead } from '../../stores/stale-read.ts';
import type { Ending } from './run-job.ts';

interface Dependencies {
  db: Db;
  log: Logger;
  retry: Retry;
  jobs: JobStore;
  files: FileStore;
  ledger: LedgerStore;
  acks: AckStore;
}

/** Longer than a stage goes on believing that a job is wanted: what is redelivered meanwhile is forgotten too. */
const FORGET_MS = 2_000;

export function createEndJob({ db, log, retry, jobs, files, ledger, acks }: Dependencies) {
  const audiences = db.collection<AudienceDocument>(collections.audiences);

  /** Ended jobs whose ledger is to be cleared: together, a moment later. */
  const ended: number[] = [];
  let clearing: NodeJS.Timeout | undefined;
  function forgetSoon(jobs: number[]): void {
    ended.push(...jobs);
    clearing ??= setTimeout(() => {
      clearing = undefined;
      forget(ended.splice(0)).catch((error) =>
        log.warn({ err: error }, 'the ledger of ended jobs was not cleared'),
      );
    }, FORGET_MS);
    clearing.unref();
  }
  const forget = async (some: number[]) => {
    await Promise.all([ledger.forget(some), acks.forget(some)]);
    faultPoint('dispatch:after-forget');
  };

  /**
   * Only while the audience is of the job's generation: a clear in between stays a clear. And only once: a dispatcher that was
   * taken for dead and comes late must not put back what a later load has changed.
   */
  async function updateAudience(
    job: JobDocument,
    words: AckDocument[],
    errors: JobError[] | null,
  ): Promise<void> {
    const { accepted, failed } = await files.summaryOf(job.audience!, job.generation!);
    const wholeJobFailed = errors?.some(({ file }) => file === undefined) ?? false;
    faultPoint('dispatch:before-audience');
    await audiences.updateOne(
      { _id: job.audience!, generation: job.generation!, loadedBy: { $not: { $gte: job._id } } },
      {
        $set: {
          uniqueDevices: sum(words, 'audienceDevices'),
          matchedDevices: sum(words, 'matchedDevices'),
          uploadedDevices: accepted,
          outcome: failed || wholeJobFailed ? JobStatus.error : JobStatus.done,
          loadedBy: job._id,
          updatedAt: new Date(),
        },
      },
    );
    faultPoint('dispatch:after-audience');
  }

  /** Only called when every slot has acknowledged: fewer words than slots are not all that was said. */
  async function allWords(job: number): Promise<AckDocument[]> {
    const words = await acks.ofJob(job);
    if (words.length < SLOTS) throw new StaleRead(`${words.length} slots speak of job ${job}`);
    return words;
  }

  return {
    /** Everything but the end itself: may be done before earlier jobs have ended. */
    async conclude(job: JobDocument, signal: AbortSignal): Promise<JobOutcome> {
      const words = await retry('read the acknowledgements', () => allWords(job._id), signal);
      const pairs = sum(words, 'pairs');
      const expected = job.kind === 'delete' ? pairs : job.verdict!.pairs;
      let errors = job.errors;
      if (pairs !== expected) {
        const message = `The slots received ${pairs} devices where the ledger counts ${expected}.`;
        log.error({ job: job._id, pairs, expected }, 'the ledger does not balance');
        errors = [...(errors ?? []), { code: 'ledger_mismatch', message }];
      }
      const distinct = pairsByFile(words);
      faultPoint('dispatch:before-duplicates');
      if (distinct.size > 0) {
        const listing = job.listing!;
        await retry(
          'record duplicates',
          () => files.recordDistinctPairs({ listing, pairs: distinct }),
          signal,
        );
      }
      if (job.audience !== null)
        await retry('update the audience', () => updateAudience(job, words, errors), signal);
      return {
        status: errors ? JobStatus.error : JobStatus.done,
        uniqueDevices: sum(words, 'uniqueDevices'),
        rows: job.kind === 'delete' ? pairs : job.rows,
        errors,
      };
    },

    /** Jobs in their order; null for one that had ended before. */
    async end(endings: (Ending | null)[], signal: AbortSignal): Promise<(JobDocument | null)[]> {
      const open = endings.filter((ending) => ending !== null);
      if (open.length === 0) return endings.map(() => null);
      faultPoint('dispatch:before-end');
      const steps = open.map(({ job, outcome }) => ({ id: job._id, outcome }));
      const ended = await retry('end jobs', () => jobs.end(steps), signal);
      faultPoint('dispatch:after-end');
      // Nothing asks for these again; should the process die first, the sweep finds them.
      forgetSoon(ended.map(({ _id }) => _id));
      const byId = new Map(ended.map((job) => [job._id, job]));
      return endings.map((ending) => (ending ? byId.get(ending.job._id)! : null));
    },
  };
}

function sum(
  words: AckDocument[],
  field: 'uniqueDevices' | 'pairs' | 'audienceDevices' | 'matchedDevices',
): number {
  return words.reduce((total, word) => total + word[field], 0);
}

function pairsByFile(words: AckDocument[]): Map<number, number> {
  const byFile = new Map<number, number>();
  for (const { filePairs } of words) {
    for (let i = 0; i < filePairs.length; i += 2) {
      byFile.set(filePairs[i]!, (byFile.get(filePairs[i]!) ?? 0) + filePairs[i + 1]!);
    }
  }
  return byFile;
}
