/** Puts the parts of dispatch together. */

import type { Db } from 'mongodb';
import { encode } from '../../../schemas/codec.ts';
import { fileFailureCodes } from '../../../schemas/codes.ts';
import type { Config } from '../../../schemas/config.ts';
import {
  type AudienceDocument,
  collections,
  type FileFailure,
  type JobDocument,
} from '../../../schemas/documents.ts';
import type { TopicKey } from '../../../schemas/topics.ts';
import type { Publisher } from '../../kafka/publish.ts';
import type { Stage } from '../../kafka/stage.ts';
import { faultPoint } from '../../runtime/fault-points.ts';
import { groupCommit } from '../../runtime/group-commit.ts';
import type { Logger } from '../../runtime/log.ts';
import type { PipelineMetrics } from '../../runtime/metrics.ts';
import type { Retry } from '../../runtime/retry.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import type { createJobSources } from '../../sources/job-sources.ts';
import type { AckStore } from '../../stores/acks.ts';
import { ensureAudience } from '../../stores/audiences.ts';
import type { CheckStore } from '../../stores/checks.ts';
import type { FileStore } from '../../stores/files.ts';
import type { JobStore } from '../../stores/jobs.ts';
import type { LedgerStore } from '../../stores/ledger.ts';
import { createDispatchJobs } from '../dispatch-jobs.ts';
import { createEndJob } from './end-job.ts';
import { createListFiles } from './list-files.ts';
import { createLoadFiles } from './load-files.ts';
import { createPoll } from './poll.ts';
import { createRunJob } from './run-job.ts';
import { createSweep } from './sweep.ts';
import { createSlotWatch } from './watch-slots.ts';

interface Dependencies {
  config: Config;
  db: Db;
  log: Logger;
  retry: Retry;
  publisher: Publisher;
  sources: ReturnType<typeof createJobSources>;
  metrics: PipelineMetrics;
  partitions: Record<TopicKey, number>;
  jobs: JobStore;
  files: FileStore;
  ledger: LedgerStore;
  acks: AckStore;
  checks: CheckStore;
  sets: DeviceSets;
  onFatal(error: unknown): void;
}

const OPERATOR_MS = 1_000;

export function createDispatcher(deps: Dependencies): Stage {
  const { config, db, log, retry, publisher, partitions, jobs, files, ledger, acks, checks, metrics } = deps;
  const audiences = db.collection<AudienceDocument>(collections.audiences);

  /** Of these jobs, those whose audience has been cleared since they were accepted. */
  async function cleared(among: JobDocument[]): Promise<Set<number>> {
    const loads = among.filter(({ audience }) => audience !== null);
    if (loads.length === 0) return new Set();
    const found = await audiences
      .find({ _id: { $in: loads.map(({ audience }) => audience!) } })
      .project<{ _id: number; generation: number }>({ generation: 1 })
      .toArray();
    const generations = new Map(found.map(({ _id, generation }) => [_id, generation]));
    // A lower one, or none, is an old picture of the audience and no clear.
    const isCleared = (job: JobDocument) => (generations.get(job.audience!) ?? 0) > job.generation!;
    return new Set(loads.filter(isCleared).map(({ _id }) => _id));
  }

  async function cancelled(
    among: JobDocument[],
    { byOperatorToo = true } = {},
  ): Promise<Map<number, FileFailure>> {
    const [byClear, byOperator] = await Promise.all([
      cleared(among),
      byOperatorToo ? jobs.cancelRequested(among.map(({ _id }) => _id)) : [],
    ]);
    const failure = (message: string): FileFailure => ({ code: 'cancelled', message });
    return new Map([
      ...[...byOperator].map((id) => [id, failure('An operator cancelled the job.')] as const),
      ...[...byClear].map((id) => [id, failure(fileFailureCodes.cancelled)] as const),
    ]);
  }

  const cancellationOf = groupCommit(async (some: JobDocument[]) => {
    const failures = await cancelled(some);
    return some.map(({ _id }) => failures.get(_id));
  });

  async function publishStatus(job: JobDocument): Promise<void> {
    if (job.phase === 'ended') metrics.jobs.inc({ status: job.status });
    const value = encode('JobStatusChanged', {
      job: job._id,
      kind: job.kind,
      partner: job.partner,
      status: job.status,
      files: job.fileCount,
      files_done: job.filesDone,
      rows: job.rows,
      unique_devices: job.uniqueDevices,
      audience: job.audience,
      errors: (job.errors ?? []).map(({ code }) => code),
      updated_at: job.updatedAt.getTime(),
    });
    faultPoint('dispatch:before-status');
    await retry('publish a status', () =>
      publisher.send('status', [{ partition: 0, key: String(job._id), value }]),
    );
    faultPoint('dispatch:after-status');
  }

  const listFiles = createListFiles({
    retry,
    jobs,
    files,
    sourceOf: deps.sources.sourceOf,
    cancellationOf,
    maxFiles: config.maxFiles,
    batchBytes: config.batchBytes,
    fileWindow: config.fileWindow,
  });
  /** The end of a job is published at least once: until it is, the job says so. */
  async function publishEnd(job: JobDocument): Promise<void> {
    await publishStatus(job);
    jobs
      .statusPublished(job._id)
      .catch((error) => log.debug({ err: error }, 'the status will be published once more'));
  }

  const ending = createEndJob({ db, log, retry, jobs, files, ledger, acks, checks });
  const runJob = createRunJob({
    log,
    retry,
    jobs,
    files,
    listFiles,
    concludeJob: ending.conclude,
    ensureAudience: (job) => ensureAudience(db, job),
    slotTotals: ledger.slotTotals,
    cancellationOf,
    publishStatus,
    publishEnd,
  });

  return createDispatchJobs({
    log,
    retry,
    publisher,
    jobs,
    async runJob(job, turns) {
      metrics.jobsUnderWay.inc();
      await runJob(job, turns).finally(() => metrics.jobsUnderWay.dec());
    },
    endJobs: ending.end,
    async publishMissedEnds() {
      for (const job of await jobs.statusUnpublished()) await publishEnd(job);
    },
    watch(signal) {
      let askedForOperator = 0;
      const wake = () => poll();
      const slots = createSlotWatch(
        {
          retry,
          publisher,
          jobs,
          acks,
          checks,
          devicePartitions: partitions.devices,
          resendMs: config.stallMs,
        },
        signal,
        wake,
      );
      const loader = createLoadFiles(
        {
          retry,
          publisher,
          jobs,
          files,
          ledger,
          // The ledger is looked at many times a second; an operator can wait for one.
          cancelled(among) {
            const byOperatorToo = performance.now() - askedForOperator > OPERATOR_MS;
            if (byOperatorToo) askedForOperator = performance.now();
            return cancelled(among, { byOperatorToo });
          },
          fileWindow: config.fileWindow,
          filePartitions: partitions.files,
          maxInvalidShare: config.maxInvalidShare,
          stallMs: config.stallMs,
          onProgress: (job, filesDone, rows) =>
            log.info({ job: job._id, files_done: filesDone, rows }, 'loading goes on'),
          onStall: (job, stalled) =>
            log.warn({ job: job._id, files: stalled }, 'no progress; the files are dispatched again'),
        },
        signal,
        wake,
      );
      const poll = createPoll([loader, slots], signal, deps.onFatal);
      return { slots, files: loader };
    },
    sweep: createSweep({ db, log, sets: deps.sets, jobs }),
    window: config.jobWindow,
    readAheadBytes: config.readAheadMb * 1_000_000,
    onFatal: deps.onFatal,
  });
}
