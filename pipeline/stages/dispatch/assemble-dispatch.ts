/** Assembles dispatch. Its external dependencies come from topology.ts. */
import type { Config } from '../../../schemas/config.ts';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import type { Stage } from '../../engine/stage.ts';
import type { Publisher } from '../../kafka/publish.ts';
import type { CountWork } from '../../runtime/count-work.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Notifier } from '../../runtime/notifier.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import { laneOf } from '../../stores/jobs/jobs.ts';
import { createKeyHints } from '../../stores/key-hints.ts';
import type { Stores } from '../../stores/stores.ts';
import { createDispatchJobs } from '../dispatch-jobs.ts';
import { createQuotaHold } from './admit/hold-quotas.ts';
import { createCancellations } from './cancellations.ts';
import { createCommitJob } from './commit/commit-job.ts';
import { createCommitReady } from './commit/commit-ready.ts';
import { createEndJobs } from './commit/end-jobs.ts';
import { createIssueReceipt, receiptSettings } from './commit/issue-receipt.ts';
import { createLimitAttributes } from './commit/limit-attributes.ts';
import { createNumberEvents } from './commit/number-events.ts';
import { createPrepareJob } from './commit/prepare-job.ts';
import { createExpireJobs } from './housekeeping/expire-jobs.ts';
import { createRemoveJobs } from './housekeeping/remove-jobs.ts';
import { createSweep, createSweepOrphans } from './housekeeping/sweep-leftovers.ts';
import type { SourceOf } from './list/find-objects.ts';
import { createListFiles } from './list/list-files.ts';
import { createRepeatJob } from './load/repeat-job.ts';
import { createStatusPublisher } from './publish-status.ts';
import { createRunJob } from './run-job.ts';
import type { DispatchStepName } from './steps.ts';

export const dispatchStores = [
  'jobs',
  'files',
  'ledger',
  'attributes',
  'attributeDevices',
  'audiences',
  'eventValues',
  'compositions',
  'compositionRows',
  'counters',
  'acks',
  'votes',
  'verdicts',
  'spills',
  'rejects',
  'requestResults',
  'identifierLists',
  'receipts',
  'signingKeys',
  'partners',
  'usage',
] as const satisfies (keyof Stores)[];

export const dispatchSettings = [
  'order',
  'slots',
  'stallMs',
  'jobWindow',
  'fileWindow',
  'batchBytes',
  'maxInvalidShare',
  'retentionDaysJobs',
  'retentionDaysRejects',
  'maxPendingJobs',
  'maxBytesPerDay',
  'maxRowsPerDay',
  ...receiptSettings,
] as const satisfies (keyof Config)[];

interface Uses
  extends Pick<Stores, (typeof dispatchStores)[number]>,
    Pick<Config, (typeof dispatchSettings)[number]>,
    Pick<CountWork, 'onActive' | 'onJobsInFlight' | 'onRepeated' | 'onEnded'> {
  log: Logger;
  publisher: Publisher;
  sourceOf: SourceOf;
  sets: DeviceSets;
  notifier: Pick<Notifier, 'subscribe'>;
  filePartitions: number;
  devicePartitions: number;
  readAheadBytes: number;
  onFatal(error: unknown): void;
}

export function createDispatch(uses: Uses): Stage<DispatchStepName> {
  const cancellations = createCancellations(uses);
  const removeJobs = createRemoveJobs(uses);
  const parts = {
    ...uses,
    status: createStatusPublisher(uses),
    quotas: createQuotaHold(uses),
    endJobs: createEndJobs({ ...uses, issueReceipt: createIssueReceipt(uses) }),
    repeatJob: createRepeatJob(uses),
    keyHints: createKeyHints(uses),
    cancellationOf: cancellations.of,
    cancelledAmong: cancellations.among,
    laneOf: (job: JobDocument) => laneOf(job, uses.order),
  };
  const prepareJob = createPrepareJob({
    ...parts,
    listFiles: createListFiles(parts),
    limitAttributes: createLimitAttributes(uses),
  });
  return createDispatchJobs({
    ...parts,
    runJob: createRunJob({ ...parts, prepareJob, commitJob: createCommitJob(parts) }),
    commitReady: createCommitReady({ ...parts, numberEvents: createNumberEvents(uses) }),
    sweep: createSweep({ ...uses, removeJobs }),
    sweepOrphans: createSweepOrphans(uses),
    expireJobs: createExpireJobs({ ...uses, removeJobs }),
  });
}
