/**
 * THE FLOW
 *
 *   api ─► jobs ─► dispatch ─► files ─► split ─► rows ─► validate ─► devices ─► sink ─► MongoDB
 *           1 part.   │         N part.           N part.   │  └─► rejects  S slots   │
 *                     │                                     ▼                         ▼
 *                     └───── decides and commits by ──── ledger ◄─────────── checks, acks
 *
 * Only this file knows the order. Each stage reads one topic; what it writes is named below.
 */
import type { Db } from 'mongodb';
import type { Config } from '../schemas/config.ts';
import type { StageName } from '../schemas/stages.ts';
import type { TopicKey } from '../schemas/topics.ts';
import type { Publisher } from './kafka/publish.ts';
import type { Stage } from './kafka/stage.ts';
import type { Logger } from './runtime/log.ts';
import type { PipelineMetrics } from './runtime/metrics.ts';
import type { Retry } from './runtime/retry.ts';
import { createDeviceSets } from './sets/device-sets.ts';
import type { createJobSources } from './sources/job-sources.ts';
import { createDispatcher } from './stages/dispatch/dispatcher.ts';
import { createMergeJobs } from './stages/sink/merge-jobs.ts';
import { createRemoveAttributes } from './stages/sink/remove-attributes.ts';
import { createVerifySlots } from './stages/sink/verify-slots.ts';
import { createSinkDevices } from './stages/sink-devices.ts';
import { createSplitFiles } from './stages/split-files.ts';
import { createValidateRows } from './stages/validate-rows.ts';
import { createAckStore } from './stores/acks.ts';
import { createCheckStore } from './stores/checks.ts';
import { createFileStore } from './stores/files.ts';
import { createJobContexts } from './stores/job-contexts.ts';
import { createJobStore } from './stores/jobs.ts';
import { createLedgerStore } from './stores/ledger.ts';
import { createRejectStore } from './stores/rejects.ts';
import { createSpillStore } from './stores/spills.ts';

export interface Surroundings {
  config: Config;
  db: Db;
  log: Logger;
  retry: Retry;
  publisher: Publisher;
  sources: ReturnType<typeof createJobSources>;
  metrics: PipelineMetrics;
  /** How many partitions each topic has. */
  partitions: Record<TopicKey, number>;
  onFatal(error: unknown): void;
}

/** Of the whole process: what small jobs touch again and again fits, and a large one only passes through. */
const CHUNK_CACHE_BYTES = 32 << 20;

export function createTopology(around: Surroundings): Record<StageName, () => Stage> {
  const { config, db, log, retry, publisher, partitions, sources, metrics } = around;
  const jobs = createJobStore(db);
  const files = createFileStore(db);
  const ledger = createLedgerStore(db);
  const acks = createAckStore(db);
  const checks = createCheckStore(db);
  const spills = createSpillStore(db);
  const rejects = createRejectStore(db);
  const contexts = createJobContexts(db);
  const sets = createDeviceSets(db, { cacheBytes: CHUNK_CACHE_BYTES / config.threads });

  return {
    // jobs ─► files, commit markers in devices, status
    dispatch: () => createDispatcher({ ...around, jobs, files, ledger, acks, checks, sets }),

    // files ─► rows
    split: () =>
      createSplitFiles({
        log,
        retry,
        publisher,
        contexts,
        ledger,
        files,
        sourceOf: sources.sourceOf,
        rowPartitions: partitions.rows,
        gzipRatio: config.gzipRatio,
      }),

    // rows ─► devices, rejects, ledger
    validate: () =>
      createValidateRows({
        log,
        retry,
        publisher,
        contexts,
        ledger,
        rejects,
        devicePartitions: partitions.devices,
        rejectPartitions: partitions.rejects,
        rejectsPerFile: config.rejectsPerFile,
        onValidated: (rows) => metrics.rows.inc(rows),
      }),

    // devices ─► device sets, checks, acks
    sink: () =>
      createSinkDevices({
        log,
        retry,
        acks,
        checks,
        spills,
        verifySlots: createVerifySlots({ retry, spills }),
        mergeJobs: createMergeJobs({ retry, sets, acks, spills }),
        removeAttributes: createRemoveAttributes({ retry, sets, acks }),
        devicePartitions: partitions.devices,
        memoryBytes: (config.sinkMemoryMb * 1_000_000) / config.threads,
      }),
  };
}
