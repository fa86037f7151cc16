/** Ends a job that every slot has merged: sums the slots' counts and writes the results. */

import type { Db } from 'mongodb';
import {
  type AckDocument,
  type FileFailure,
  type JobDocument,
  type JobError,
  JobStatus,
} from '../../../schemas/documents.ts';
import { SLOTS } from '../../../schemas/topics.ts';
import { faultPoint } from '../../runtime/fault-points.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Retry } from '../../runtime/retry.ts';
import type { AckStore } from '../../stores/acks.ts';
import { recordLoad } from '../../stores/audiences.ts';
import type { CheckStore } from '../../stores/checks.ts';
import type { FileStore } from '../../stores/files.ts';
import type { JobOutcome, JobStore } from '../../stores/jobs.ts';
import type { LedgerStore } from '../../stores/ledger.ts';
import { StaleRead } from '../../stores/stale-read.ts';

export interface Ending {
  job: JobDocument;
  outcome: JobOutcome;
}

interface Dependencies {
  db: Db;
  log: Logger;
  retry: Retry;
  jobs: JobStore;
  files: FileStore;
  ledger: LedgerStore;
  acks: AckStore;
  checks: CheckStore;
}

/** Longer than a stage goes on believing that a job is wanted: what is redelivered meanwhile is forgotten too. */
const FORGET_MS = 2_000;

export function createEndJob({ db, log, retry, jobs, files, ledger, acks, checks }: Dependencies) {
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
    await Promise.all([ledger.forget(some), acks.forget(some), checks.forget(some)]);
    faultPoint('dispatch:after-forget');
  };

  async function updateAudience(
    job: JobDocument,
    acked: AckDocument[],
    errors: JobError[] | null,
  ): Promise<void> {
    const { accepted, failed } = await files.summaryOf(job.audience!, job.generation!);
    faultPoint('dispatch:before-audience');
    await recordLoad(db, job, {
      uniqueDevices: sum(acked, 'audienceDevices'),
      matchedDevices: sum(acked, 'matchedDevices'),
      uploadedDevices: accepted,
      someFileFailed: failed,
      errors,
    });
    faultPoint('dispatch:after-audience');
  }

  /** Only asked for when every slot has merged the job. Null: another dispatcher has ended it, and cleared them. */
  async function allAcks(job: number): Promise<AckDocument[] | null> {
    const found = await acks.ofJob(job);
    if (found.length === SLOTS) return found;
    if ((await jobs.endedAmong([job])).has(job)) return null;
    throw new StaleRead(`${found.length} slots have acknowledged job ${job}`);
  }

  return {
    /** Everything but the end itself: may be done before earlier jobs have ended. Null: it has ended already. */
    async conclude(job: JobDocument, signal: AbortSignal): Promise<JobOutcome | null> {
      const acked = await retry('read the acks', () => allAcks(job._id), signal);
      if (!acked) return null;
      const { errors } = job;
      const distinct = pairsByFile(acked);
      faultPoint('dispatch:before-duplicates');
      const listing = job.listing!;
      if (distinct.size > 0)
        await retry(
          'record duplicates',
          () => files.recordDistinctPairs({ listing, pairs: distinct }),
          signal,
        );
      // Nothing of it was merged, so no file of it is loaded, whatever was decided of the file itself.
      const wholeFailure = errors?.find(({ file }) => file === undefined);
      if (job.listing && wholeFailure && job.verdict!.passed.length === 0) {
        const { code, message } = wholeFailure;
        await retry('fail the files', () => files.failAll(listing, { code, message } as FileFailure), signal);
      }
      if (job.audience !== null)
        await retry('update the audience', () => updateAudience(job, acked, errors), signal);
      return {
        status: errors ? JobStatus.error : JobStatus.done,
        uniqueDevices: sum(acked, 'uniqueDevices'),
        rows: job.kind === 'delete' ? sum(acked, 'pairs') : job.rows,
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
  acked: AckDocument[],
  field: 'uniqueDevices' | 'pairs' | 'audienceDevices' | 'matchedDevices',
): number {
  return acked.reduce((total, ack) => total + ack[field], 0);
}

function pairsByFile(acked: AckDocument[]): Map<number, number> {
  const byFile = new Map<number, number>();
  for (const { filePairs } of acked) {
    for (let i = 0; i < filePairs.length; i += 2) {
      byFile.set(filePairs[i]!, (byFile.get(filePairs[i]!) ?? 0) + filePairs[i + 1]!);
    }
  }
  return byFile;
}
