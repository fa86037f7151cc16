/** A sink on a real database with one slot: its deliveries, and hooks that make votes and merges fail. */
import type { Delivery } from '../../pipeline/engine/stage.ts';
import type { Step } from '../../pipeline/engine/step.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createReadCommitted } from '../../pipeline/stages/sink/committed-jobs.ts';
import { createDropJob } from '../../pipeline/stages/sink/drop-job.ts';
import { createDropRequest } from '../../pipeline/stages/sink/drop-request.ts';
import { createGatherParts } from '../../pipeline/stages/sink/gather-parts.ts';
import { createLookAhead } from '../../pipeline/stages/sink/look-ahead.ts';
import { createMergeJobs } from '../../pipeline/stages/sink/merge-jobs.ts';
import { createMergeWithCare } from '../../pipeline/stages/sink/merge-with-care.ts';
import { createRemoveAttributes } from '../../pipeline/stages/sink/remove-attributes.ts';
import { createServeRequest } from '../../pipeline/stages/sink/serve-request.ts';
import { createVerifySlots } from '../../pipeline/stages/sink/verify-slots.ts';
import { createSinkDevices } from '../../pipeline/stages/sink-devices.ts';
import { createAckStore } from '../../pipeline/stores/acks.ts';
import { createCrashStore } from '../../pipeline/stores/crashes.ts';
import { createEventValueStore } from '../../pipeline/stores/event-values.ts';
import { createJobStore } from '../../pipeline/stores/jobs/jobs.ts';
import { createSpillStore } from '../../pipeline/stores/spills.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { createVerdictStore } from '../../pipeline/stores/verdicts.ts';
import { createVoteStore } from '../../pipeline/stores/votes.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { collections } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import type { JobMarker } from '../../schemas/topics.ts';
import { emptyDatabase, openDatabase } from '../sets/database.ts';
import { numberedDevices, testPlacement } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { createStoredSets } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';

export const PARTITION = 3;
export const PARTNER = 'p1';

export function openSinkScene() {
  const database = openDatabase();
  const step = recordedStep('sink');
  const { hash: hashDevice } = testPlacement;

  interface Options {
    /** Called before a merge. */
    mergesMay?(jobs: number[]): Promise<void>;
    votesMay?(job: number): Promise<void>;
    spillsMay?(): Promise<void>;
    assignment?: Step;
    /** Keeps the database of the sink before it. */
    isSuccessor?: boolean;
  }

  async function createSink({
    mergesMay,
    votesMay,
    spillsMay,
    assignment = step,
    isSuccessor,
  }: Options = {}) {
    const { db } = database;
    if (!isSuccessor) await emptyDatabase(db);
    const log = createLogger({ logLevel: 'silent' }, 'test');
    const verdicts = createVerdictStore(db);
    const [sets, acks, spills] = [createDeviceSets(db), createAckStore(db), createSpillStore(db)];
    const eventValues = createEventValueStore(db);
    const mergeJobs = createMergeJobs({ sets, acks, spills, eventValues, verdicts, hashDevice });
    const verifySlots = createVerifySlots({ spills, verdicts });
    const votes = createVoteStore(db);
    const jobs = db.collection<JobDocument>(collections.jobs);
    const sink = createSinkDevices({
      onHeld() {},
      onSpilled() {},
      onMerged() {},
      log,
      votes,
      spills: {
        ...spills,
        async save(...args) {
          await spillsMay?.();
          await spills.save(...args);
        },
      },
      readCommitted: createReadCommitted({ acks, jobs: createJobStore(db) }),
      async verifySlots(marker, ...args) {
        await votesMay?.(marker.job);
        return verifySlots(marker, ...args);
      },
      lookAhead: createLookAhead({ sets, verdicts, hashDevice }),
      async mergeJobs(run, ...args) {
        await mergesMay?.(run.markers.map(({ job }) => job));
        await mergeJobs(run, ...args);
      },
      removeAttributes: createRemoveAttributes({ sets, acks }),
      serveRequest: createServeRequest({
        ...createStores(db),
        sets,
        hashDevice,
        gatherParts: createGatherParts({ spills, verdicts, hashDevice }),
        secret: Buffer.alloc(32),
      }),
      dropJob: createDropJob({ sets, acks, dropRequest: createDropRequest({ ...createStores(db), sets }) }),
      mergeWithCare: createMergeWithCare({ crashes: createCrashStore(db), jobs: createJobStore(db) }),
      // One slot per partition.
      slots: 16,
      hashDevice,
      devicePartitions: 16,
      memoryBytes: 1_000_000,
      notifier: { notify() {} },
    });
    sink.assigned!([PARTITION], assignment);
    const committedJob = async () => (await acks.committedJobs([PARTITION])).get(PARTITION);
    /** Waits for the merge: the partition is read on meanwhile. */
    const untilMerged = (job: number) =>
      waitFor(async () => (await committedJob()) === job, { what: `job ${job} to be merged` });
    /** Waits for the ack and the slot's advance, so that nothing is written into the next test's database. */
    const untilAcked = (job: number) =>
      waitFor(async () => (await acks.ofJob(job)).length > 0 && ((await committedJob()) ?? 0) >= job, {
        what: `the ack of job ${job}`,
      });
    /** Waits until the offset before `next` may be committed. */
    const untilCommittable = (next: bigint) =>
      waitFor(() => sink.committable!(PARTITION, offset) === next, { what: `offset ${next}` });
    let offset = 0n;
    const deliver = (message: Delivery['message']): Delivery => ({
      partition: PARTITION,
      offset: offset++,
      message,
      step: assignment,
    });
    const messageOf = (job: number, batch = 0) => ({
      job,
      file: 0,
      batch,
      slot: PARTITION,
      part: 0,
      groups: encodeGroups([{ key: '1', devices: numberedDevices(1_000 * batch, 1_000 * batch + 10 * job) }]),
    });
    const devices = (job: number, batch = 0) =>
      deliver({ name: 'ValidatedDevices', value: messageOf(job, batch) });
    const marker = (job: number, fields: Partial<JobMarker> = {}, batches = [0]) => {
      const expected = batches.map((batch) => messageOf(job, batch));
      return deliver({ name: 'JobMarker', value: markerOf({ job, partner: PARTNER, ...fields }, expected) });
    };
    return {
      sink,
      sets: createStoredSets(db),
      jobs,
      acks,
      votes,
      devices,
      marker,
      untilMerged,
      untilAcked,
      untilCommittable,
    };
  }

  return { database, step, createSink };
}
