/**
 * THE FLOW
 *
 *   api ─► jobs ─► dispatch ─► files ─► split ─► rows ─► validate ─► devices ─► sink ─► MongoDB
 *           1 part.   │         N part.           N part.   │  └─► rejects  S slots   │
 *                     │                                     ▼                         ▼
 *                     └───── decides and merges by ───── ledger ◄─────────── votes, acks
 *
 * The protocol is two-phase commit over slots, with the ledger as evidence: dispatch asks the sinks to prepare, they vote, dispatch
 * decides, they commit and acknowledge (README.md). Only this file knows the order; each stage reads one topic.
 */
import type { Db } from 'mongodb';
import type { Config } from '../schemas/config.ts';
import type { StageName } from '../schemas/stages.ts';
import type { TopicKey } from '../schemas/topics.ts';
import type { Stage } from './engine/stage.ts';
import type { DeviceHash } from './formats/device-hash.ts';
import type { Publisher } from './kafka/publish.ts';
import type { LagReader } from './kafka/read-lag.ts';
import { countWork } from './runtime/count-work.ts';
import type { Logger } from './runtime/log.ts';
import type { PipelineMetrics } from './runtime/metrics.ts';
import { createNews } from './runtime/news.ts';
import type { Tracer } from './runtime/traces.ts';
import { createDeviceSets } from './sets/device-sets.ts';
import type { createJobSources } from './sources/job-sources.ts';
import { createQuotaHold } from './stages/dispatch/admit/hold-quotas.ts';
import { createCancellations } from './stages/dispatch/cancellations.ts';
import { createCommitJob } from './stages/dispatch/commit/commit-job.ts';
import { createDecideJob } from './stages/dispatch/commit/decide-job.ts';
import { createEndJobs } from './stages/dispatch/commit/end-jobs.ts';
import { createLimitAttributes } from './stages/dispatch/commit/limit-attributes.ts';
import { createNumberEvents } from './stages/dispatch/commit/number-events.ts';
import { createExpireJobs } from './stages/dispatch/housekeeping/expire-jobs.ts';
import { createRemoveJobs } from './stages/dispatch/housekeeping/remove-jobs.ts';
import { createSweep, createSweepOrphans } from './stages/dispatch/housekeeping/sweep-leftovers.ts';
import { createListFiles } from './stages/dispatch/list/list-files.ts';
import { createRepeatJob } from './stages/dispatch/load/repeat-job.ts';
import { createStatusPublisher } from './stages/dispatch/publish-status.ts';
import { createRunJob } from './stages/dispatch/run-job.ts';
import { createDispatchJobs } from './stages/dispatch-jobs.ts';
import { createReadCommitted } from './stages/sink/committed-jobs.ts';
import { createDropJob } from './stages/sink/drop-job.ts';
import { createLookAhead } from './stages/sink/look-ahead.ts';
import { createMergeJobs } from './stages/sink/merge-jobs.ts';
import { createMergeWithCare } from './stages/sink/merge-with-care.ts';
import { createRemoveAttributes } from './stages/sink/remove-attributes.ts';
import { createVerifySlots } from './stages/sink/verify-slots.ts';
import { createSinkDevices } from './stages/sink-devices.ts';
import { createSplitFiles } from './stages/split-files.ts';
import { createValidateRows } from './stages/validate-rows.ts';
import { createStores } from './stores/stores.ts';

export interface Dependencies {
  config: Config;
  db: Db;
  log: Logger;
  publisher: Publisher;
  lags: Pick<LagReader, 'positionsOf'>;
  sources: ReturnType<typeof createJobSources>;
  metrics: PipelineMetrics;
  tracer: Tracer;
  /** Says where a device is: keyed with the installation's key. */
  hashDevice: DeviceHash;
  /** How many partitions each topic has. */
  partitions: Record<TopicKey, number>;
  onFatal(error: unknown): void;
}

export function createTopology(deps: Dependencies): Record<StageName, () => Stage> {
  const { config, partitions } = deps;
  const { sourceOf } = deps.sources;
  const stores = createStores(deps.db);
  const sets = createDeviceSets(deps.db);
  // What every stage may use, beside what it is given below.
  const news = createNews();
  const counts = countWork(deps.metrics, deps.tracer);
  const shared = { ...config, ...deps, ...stores, ...counts, sets, sourceOf, news };

  return {
    // jobs ─► files, markers in devices, status
    dispatch: () => {
      const cancellations = createCancellations(shared);
      const status = createStatusPublisher(shared);
      const endJobs = createEndJobs(shared);
      const removeJobs = createRemoveJobs(shared);
      const quotas = createQuotaHold(shared);
      const repeatJob = createRepeatJob(shared);
      const inDispatch = { ...shared, status, quotas, endJobs, repeatJob, cancellationOf: cancellations.of };
      const listFiles = createListFiles(inDispatch);
      return createDispatchJobs({
        ...shared,
        status,
        quotas,
        endJobs,
        numberEvents: createNumberEvents(shared),
        runJob: createRunJob({
          ...shared,
          status,
          decideJob: createDecideJob({
            ...inDispatch,
            listFiles,
            limitAttributes: createLimitAttributes(shared),
          }),
          commitJob: createCommitJob(inDispatch),
        }),
        sweep: createSweep({ ...shared, removeJobs }),
        sweepOrphans: createSweepOrphans(shared),
        expireJobs: createExpireJobs({ ...shared, removeJobs }),
        cancelledAmong: cancellations.among,
        cancellationOf: cancellations.of,
        filePartitions: partitions.files,
        devicePartitions: partitions.devices,
        readAheadBytes: config.readAheadMb * 1_000_000,
      });
    },

    // files ─► rows
    split: () =>
      createSplitFiles({
        ...shared,
        rowPartitions: partitions.rows,
        rowsAheadBytes: (config.rowsAheadMb * 1_000_000) / config.threads,
      }),

    // rows ─► devices, rejects, ledger
    validate: () =>
      createValidateRows({
        ...shared,
        devicePartitions: partitions.devices,
        rejectPartitions: partitions.rejects,
        onValidated(parsed) {
          counts.onValidated(parsed);
          news.tell();
        },
      }),

    // devices ─► device sets, votes, acks
    sink: () =>
      createSinkDevices({
        ...shared,
        readCommitted: createReadCommitted(shared),
        verifySlots: createVerifySlots(shared),
        lookAhead: createLookAhead(shared),
        mergeJobs: createMergeJobs(shared),
        removeAttributes: createRemoveAttributes(shared),
        dropJob: createDropJob(shared),
        mergeWithCare: createMergeWithCare(shared),
        devicePartitions: partitions.devices,
        memoryBytes: (config.sinkMemoryMb * 1_000_000) / config.threads,
      }),
  };
}
