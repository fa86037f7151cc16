/**
 * A term: the time during which this process is the active dispatcher. Its states:
 *
 *   starting ─► active ─► over
 *       └──────────────────▲
 *
 *   starting  reads the number of the first unfinished job. Messages wait.
 *   active    jobs are admitted in order (admit/admit-jobs.ts), wait in their lanes (admit/lanes.ts), and run to their ends (run-job.ts).
 *             Jobs whose message was lost are recovered, and leftovers are swept.
 *   over      the partition was revoked, or the process stops: every step of the term rejects. All state is in MongoDB, so the next term,
 *             here or in another process, continues from there.
 */

import type { JobDocument } from '../../../schemas/job-documents.ts';
import { groupCommitEach } from '../../runtime/group-commit.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Notifier } from '../../runtime/notifier.ts';
import { isUndecided, type JobStore } from '../../stores/jobs/jobs.ts';
import { type Admission, type AdmissionDependencies, createAdmission } from './admit/admit-jobs.ts';
import type { QuotaHold } from './admit/hold-quotas.ts';
import { createLanes } from './admit/lanes.ts';
import type { CommitReady } from './commit/commit-ready.ts';
import {
  createSlotCoordinator,
  type SlotCoordinator,
  type SlotDependencies,
} from './commit/coordinate-slots.ts';
import type { Ending, EndJobs } from './commit/end-jobs.ts';
import { createFileLoader, type LoadDependencies } from './load/load-files.ts';
import { createReadAhead } from './load/read-ahead.ts';
import { createPoll } from './poll.ts';
import type { StatusPublisher } from './publish-status.ts';
import type { RunJob } from './run-job.ts';
import { createSequencer } from './sequencer.ts';
import type { DispatchStep } from './steps.ts';
import { type Gates, NotDecided, type Place, type ReadyJob, type Turns } from './turns.ts';

export interface TermDependencies
  extends AdmissionDependencies,
    Omit<LoadDependencies, 'readAhead' | 'quotas'>,
    Omit<SlotDependencies, 'endedBefore'> {
  quotas: Pick<QuotaHold, 'grow'>;
  /** Maximum jobs in flight. */
  jobWindow: number;
  /** The jobs of a lane end in order. */
  laneOf(job: JobDocument): string;
  log: Logger;
  jobs: JobStore;
  runJob: RunJob;
  commitReady: CommitReady;
  endJobs: EndJobs;
  status: StatusPublisher;
  /** Removes what cleared audiences and ended jobs left behind. */
  sweep(step: DispatchStep): Promise<void>;
  /** Removes pages that no manifest references. */
  sweepOrphans(step: DispatchStep): Promise<void>;
  /** Applies the retention settings. */
  expireJobs(step: DispatchStep): Promise<void>;
  readAheadBytes: number;
  notifier: Pick<Notifier, 'subscribe'>;
  onJobsInFlight(jobs: number): void;
  onActive(isActive: boolean): void;
  onFatal(error: unknown): void;
}

export type Term = ReturnType<typeof createTerm>;

/** The number of a lane's first job at its gates. */
const FIRST = 0;
const FIND_LOST_MS = 1_000;
const SWEEP_MS = 30_000;
const SWEEP_ORPHANS_MS = 15 * 60_000;
const EXPIRE_MS = 60_000;

export function createTerm(deps: TermDependencies, step: DispatchStep) {
  const { log, jobs } = deps;
  let admission: Admission | undefined;

  function fail(error: unknown): void {
    if (!step.signal.aborted) deps.onFatal(error);
  }

  /** starting ─► active */
  async function start(): Promise<Admission> {
    const { first, newest } = await step.read('find the first unfinished job', () => jobs.extent());
    // Separate, so that votes and acks do not wait for reading the ledger of other, larger jobs.
    const wake = { files: () => pollFiles(), slots: () => pollSlots() };
    const endedBefore = () => Math.min(admitted.next(), lanes.oldest() ?? Number.POSITIVE_INFINITY);
    const slots = createSlotCoordinator({ ...deps, endedBefore }, step, wake.slots);
    const readAhead = createReadAhead(deps.readAheadBytes, (job) => lanes.isFirst(job));
    const files = createFileLoader({ ...deps, readAhead }, step, wake.files);
    const hints = { listen: deps.notifier.subscribe, onError: deps.onFatal };
    const pollFiles = createPoll(files, step, hints);
    const pollSlots = createPoll(slots, step, hints);
    const turns: Turns = { step, files, slots, readAhead, mayBeListed: (job) => job <= newest };

    async function runToItsEnd(id: number, place: Place, admitted?: JobDocument): Promise<void> {
      deps.onJobsInFlight(1);
      try {
        const job = admitted ?? (await step.read('read the job', () => jobs.find(id)));
        await deps.runJob(job!, { ...turns, ...place });
      } finally {
        deps.onJobsInFlight(-1);
      }
    }
    /** Never resolves for a job that fails: until the process exits, markers of other lanes must not count it as ended. */
    const run = (id: number, place: Place, admitted?: JobDocument) =>
      new Promise<void>((resolve) => {
        runToItsEnd(id, place, admitted).then(resolve, fail);
      });
    function onEnded(job: number): void {
      readAhead.admit();
      admitted.onEnded(job);
    }
    const lanes = createLanes({ ...deps, createGates: createGatesOf(slots), run, onEnded });
    const onJob = (job: JobDocument) => lanes.add(deps.laneOf(job), job);
    const admitted = createAdmission(deps, { first, newest, step, onJob });
    admission = admitted;
    deps.onActive(!step.signal.aborted);
    step.signal.addEventListener('abort', () => deps.onActive(false), { once: true });
    log.info({ next_job: first }, 'this process is the active dispatcher');
    deps.status.publishMissed(step).catch(fail);
    repeat(FIND_LOST_MS, 'find jobs whose message was lost', admitted.takeLost);
    repeat(SWEEP_MS, 'sweep', () => deps.sweep(step));
    repeat(SWEEP_ORPHANS_MS, 'sweep orphaned pages', () => deps.sweepOrphans(step));
    repeat(EXPIRE_MS, 'remove expired jobs', () => deps.expireJobs(step));
    return admitted;
  }

  /** Jobs of different lanes that pass their gates at the same time share a write; if it fails, each lane is written separately. */
  function createGatesOf(slots: SlotCoordinator): () => Gates {
    const commit = groupCommitEach(ofLanes((ready: ReadyJob[]) => deps.commitReady(ready, slots, step)));
    const end = groupCommitEach(ofLanes((endings: Ending[]) => deps.endJobs.end(endings, step)));
    return () => ({
      commits: createSequencer(FIRST, step.signal, async (ready) => {
        const current = await commit(ready);
        const open = current.find((job) => job && isUndecided(job));
        if (open) throw new NotDecided(open);
        return current;
      }),
      ends: createSequencer(FIRST, step.signal, end),
    });
  }

  /** Repeats the work until the term is over. */
  function repeat(everyMs: number, what: string, work: () => Promise<void>): void {
    const attempt = () =>
      work().catch((error) => {
        if (!step.signal.aborted)
          log.warn({ err: error }, `failed to ${what}: retrying in ${everyMs / 1000} s`);
      });
    const run = async () => {
      for (;;) {
        await attempt();
        await step.pause(everyMs);
      }
    };
    run().catch(() => {});
  }

  const started = start();
  started.catch(fail);

  return {
    /** Resolves when the job is admitted. */
    deliver: async (job: number, offset: bigint | null) => (await started).take(job, offset),
    /** Offset of the oldest message whose job is in flight. */
    oldestOffset: () => admission?.oldestOffset(),
  };
}

/** Combines the items of several lanes into one call. Null: nothing to do for that job. */
function ofLanes<Item, Result>(work: (items: Item[]) => Promise<Result[]>) {
  return async (lanes: (Item | null)[][]): Promise<(Result | null)[][]> => {
    const items = lanes.flat().filter((item) => item !== null);
    const results = items.length > 0 ? await work(items) : [];
    const next = results.values();
    return lanes.map((lane) => lane.map((item) => (item === null ? null : next.next().value!)));
  };
}
