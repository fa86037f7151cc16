/** Assembles the sink. Its external dependencies come from topology.ts. */
import type { Stage } from '../../engine/stage.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import type { Stores } from '../../stores/stores.ts';
import { createSinkDevices, type SinkDependencies } from '../sink-devices.ts';
import { createReadCommitted } from './committed-jobs.ts';
import { createDropJob } from './drop-job.ts';
import { createDropRequest } from './drop-request.ts';
import { createGatherParts } from './gather-parts.ts';
import { createLookAhead } from './look-ahead.ts';
import { createMergeJobs } from './merge-jobs.ts';
import { createMergeWithCare } from './merge-with-care.ts';
import { createRemoveAttributes } from './remove-attributes.ts';
import { createServeRequest } from './serve-request.ts';
import type { SinkStepName } from './steps.ts';
import { createVerifySlots } from './verify-slots.ts';

type Parts =
  | 'readCommitted'
  | 'verifySlots'
  | 'lookAhead'
  | 'mergeJobs'
  | 'removeAttributes'
  | 'serveRequest'
  | 'dropJob'
  | 'mergeWithCare';

export const sinkStores = [
  'jobs',
  'acks',
  'votes',
  'verdicts',
  'spills',
  'eventValues',
  'crashes',
  'audiences',
  'attributes',
  'rejects',
  'dryRuns',
  'requestResults',
] as const satisfies (keyof Stores)[];

interface Uses extends Omit<SinkDependencies, Parts>, Pick<Stores, (typeof sinkStores)[number]> {
  sets: DeviceSets;
  /** Encrypts the results of access requests. */
  secret: Uint8Array;
}

export const createSink = (uses: Uses): Stage<SinkStepName> =>
  createSinkDevices({
    ...uses,
    readCommitted: createReadCommitted(uses),
    verifySlots: createVerifySlots(uses),
    lookAhead: createLookAhead(uses),
    mergeJobs: createMergeJobs(uses),
    removeAttributes: createRemoveAttributes(uses),
    serveRequest: createServeRequest({ ...uses, gatherParts: createGatherParts(uses) }),
    dropJob: createDropJob({ ...uses, dropRequest: createDropRequest(uses) }),
    mergeWithCare: createMergeWithCare(uses),
  });
