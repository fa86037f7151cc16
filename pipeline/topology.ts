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
import type { HandledOffsets } from './kafka/handled-offsets.ts';
import type { Publisher } from './kafka/publish.ts';
import type { LagReader } from './kafka/read-lag.ts';
import { pick } from './runtime/collections.ts';
import { countWork } from './runtime/count-work.ts';
import type { Logger } from './runtime/log.ts';
import type { PipelineMetrics } from './runtime/metrics.ts';
import { createNotifier } from './runtime/notifier.ts';
import type { Tracer } from './runtime/traces.ts';
import { createDeviceSets } from './sets/device-sets.ts';
import type { createJobSources } from './sources/job-sources.ts';
import { createDispatch, dispatchSettings, dispatchStores } from './stages/dispatch/assemble-dispatch.ts';
import { createSink, sinkStores } from './stages/sink/assemble-sink.ts';
import { createSplitFiles } from './stages/split-files.ts';
import { createValidateRows } from './stages/validate-rows.ts';
import { createStores } from './stores/stores.ts';

export interface Dependencies {
  config: Config;
  db: Db;
  log: Logger;
  publisher: Publisher;
  lags: Pick<LagReader, 'positionsOf'>;
  handledOffsets: Pick<HandledOffsets, 'subscribe'>;
  sources: Pick<ReturnType<typeof createJobSources>, 'sourceOf'>;
  metrics: PipelineMetrics;
  tracer: Tracer;
  /** Keyed hash that places a device in a slot. */
  hashDevice: DeviceHash;
  /** Partition count by topic. */
  partitions: Record<TopicKey, number>;
  onFatal(error: unknown): void;
}

export function createTopology(deps: Dependencies): Record<StageName, () => Stage> {
  const { config, db, log, publisher, lags, handledOffsets, hashDevice, partitions, onFatal } = deps;
  const { sourceOf } = deps.sources;
  const stores = createStores(db);
  const sets = createDeviceSets(db, { layout: pick(config, ['regionBytes']) });
  const notifier = createNotifier();
  const counts = countWork(deps.metrics, deps.tracer);

  return {
    // jobs ─► files, markers in devices, status
    dispatch: () =>
      createDispatch({
        ...{ log, publisher, sourceOf, sets, notifier, onFatal },
        ...pick(stores, dispatchStores),
        ...pick(config, dispatchSettings),
        ...pick(counts, ['onActive', 'onJobsInFlight', 'onRepeated', 'onEnded']),
        filePartitions: partitions.files,
        devicePartitions: partitions.devices,
        readAheadBytes: config.readAheadMb * 1_000_000,
      }),

    // files ─► rows
    split: () =>
      createSplitFiles({
        ...{ log, publisher, sourceOf, lags, handledOffsets },
        ...pick(stores, ['contexts', 'ledger', 'files', 'counters']),
        ...pick(config, ['sessionTimeoutMs']),
        ...pick(counts, ['onRead']),
        rowPartitions: partitions.rows,
        rowsAheadBytes: (config.rowsAheadMb * 1_000_000) / config.threads,
      }),

    // rows ─► devices, rejects, ledger
    validate: () =>
      createValidateRows({
        ...{ log, publisher, lags, handledOffsets, hashDevice, sets, notifier },
        ...pick(stores, ['contexts', 'ledger', 'rejects']),
        ...pick(config, ['slots', 'rejectsPerFile']),
        ...pick(counts, ['onValidated']),
        devicePartitions: partitions.devices,
        rejectPartitions: partitions.rejects,
        devicesAheadBytes: (config.devicesAheadMb * 1_000_000) / config.threads,
      }),

    // devices ─► device sets, votes, acks
    sink: () =>
      createSink({
        ...{ log, hashDevice, sets, notifier },
        ...pick(stores, sinkStores),
        ...pick(config, ['slots', 'secret']),
        ...pick(counts, ['onHeld', 'onSpilled', 'onMerged']),
        devicePartitions: partitions.devices,
        memoryBytes: (config.sinkMemoryMb * 1_000_000) / config.threads,
      }),
  };
}
