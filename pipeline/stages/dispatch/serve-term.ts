/**
 * A term: the time during which this process is the active dispatcher. Its states:
 *
 *   starting ─► active ─► over
 *       └──────────────────▲
 *
 *   starting  it reads which job is the first unfinished one. Messages wait.
 *   active    jobs are admitted in the order of their numbers (admit/admit-jobs.ts) and run to their ends (run-job.ts). Jobs whose
 *             message never came are looked for, and leftovers are swept.
 *   over      the partition was taken away, the process stops, or a job was stopped (admit/defer-jobs.ts): every step of the term
 *             rejects. What was decided is in MongoDB, so the next term, here or elsewhere, goes on from there.
 */
import type { JobDocument } from '../../../schemas/documents.ts';
import type { Logger } from '../../runtime/log.ts';
import type { News } from '../../runtime/news.ts';
import type { JobStore } from '../../stores/jobs/jobs.ts';
import { type Admission, type AdmissionDependencies, createAdmission } from './admit/admit-jobs.ts';
import { createDeferredJobs, type DeferredDependencies, type Place } from './admit/defer-jobs.ts';
import type { QuotaHold } from './admit/hold-quotas.ts';
import { createSlotCoordinator, type SlotDependencies } from './commit/coordinate-slots.ts';
import type { EndJobs } from './commit/end-jobs.ts';
import type { NumberEvents } from './commit/number-events.ts';
import { createFileLoader, type LoadDependencies } from './load/load-files.ts';
import { createReadAhead } from './load/read-ahead.ts';
import { createPoll } from './poll.ts';
import type { StatusPublisher } from './publish-status.ts';
import type { RunJob } from './run-job.ts';
import { createSequencer } from './sequencer.ts';
import type { DispatchStep } from './steps.ts';
import type { Gates, Turns } from './turns.ts';

export interface TermDependencies
  extends AdmissionDependencies,
    Omit<DeferredDependencies, 'quotas'>,
    Omit<LoadDependencies, 'readAhead' | 'quotas'>,
    SlotDependencies {
  quotas: Pick<QuotaHold, 'hold' | 'grow'>;
  log: Logger;
  jobs: JobStore;
  runJob: RunJob;
  numberEvents: NumberEvents;
  endJobs: EndJobs;
  status: StatusPublisher;
  /** Clears away what cleared audiences and ended jobs left behind. */
  sweep(step: DispatchStep): Promise<void>;
  /** Removes pages that no manifest names. */
  sweepOrphans(step: DispatchStep): Promise<void>;
  /** Removes what the operator does not want to keep. */
  expireJobs(step: DispatchStep): Promise<void>;
  readAheadBytes: number;
  news: Pick<News, 'listen'>;
  onJobsInFlight(jobs: number): void;
  onActive(isActive: boolean): void;
  onFatal(error: unknown): void;
}

export type Term = ReturnType<typeof createTerm>;

const FIND_LOST_MS = 1_000;
const SWEEP_MS = 30_000;
const SWEEP_ORPHANS_MS = 15 * 60_000;
const EXPIRE_MS = 60_000;

/** `onStopped`: a job was stopped, and another term is to begin. */
export function createTerm(deps: TermDependencies, step: DispatchStep, onStopped: () => void) {
  const { log, jobs } = deps;
  let admission: Admission | undefined;

  function fail(error: unknown): void {
    if (!step.signal.aborted) deps.onFatal(error);
  }

  /** starting ─► active */
  async function start(): Promise<Admission> {
    await step('defer', () => jobs.deferBehindStopped());
    const { first, newest } = await step.read('find the first unfinished job', () => jobs.extentInOrder());
    const deferred = await step.read('find deferred jobs', () => jobs.deferred());
    const isOldest = (job: number) => admitted.isOldest(job) || lanes.isFirst(job);
    const { createGates, ...turns } = createTurns({ first, newest, isOldest });
    const run = async (job: JobDocument, place: Place) => {
      deps.onJobsInFlight(1);
      try {
        await deps.runJob(job, { ...turns, ...place });
      } catch (error) {
        fail(error);
      } finally {
        deps.onJobsInFlight(-1);
      }
    };
    const onEnded = () => turns.readAhead.admit();
    const lanes = createDeferredJobs(deps, { step, deferred, createGates, run, onError: fail });
    async function defer(job: JobDocument): Promise<boolean> {
      if (!(await lanes.take(job))) return false;
      const { commits, ends } = turns.gates;
      for (const passed of [commits.pass(job._id, null), ends.pass(job._id, null)]) passed.catch(() => {});
      return true;
    }
    const runInOrder = (job: JobDocument, earlierLoad: Promise<void> | undefined) =>
      run(job, { gates: turns.gates, number: job._id, earlierLoad });
    const admitted = createAdmission(deps, { first, step, run: runInOrder, defer, onEnded });
    admission = admitted;
    deps.onActive(!step.signal.aborted);
    step.signal.addEventListener('abort', () => deps.onActive(false), { once: true });
    log.info({ next_job: first }, 'this process is the active dispatcher');
    deps.status.publishMissed(step).catch(fail);
    repeat(FIND_LOST_MS, 'look for jobs whose message was lost', admitted.takeLost);
    repeat(SWEEP_MS, 'sweep', () => deps.sweep(step));
    repeat(SWEEP_ORPHANS_MS, 'sweep orphaned pages', () => deps.sweepOrphans(step));
    repeat(EXPIRE_MS, 'remove expired jobs', () => deps.expireJobs(step));
    return admitted;
  }

  /** What the jobs in flight share. */
  function createTurns(at: { first: number; newest: number; isOldest(job: number): boolean }) {
    const wake = () => poll();
    const slots = createSlotCoordinator(deps, step, wake);
    const readAhead = createReadAhead(deps.readAheadBytes, at.isOldest);
    const files = createFileLoader({ ...deps, readAhead }, step, wake);
    const poll = createPoll([files, slots], step, { listen: deps.news.listen, onError: deps.onFatal });
    const createGates = (first: number): Gates => ({
      commits: createSequencer(first, step.signal, async (some) => {
        await deps.numberEvents(some, step);
        return slots.commit(some);
      }),
      ends: createSequencer(first, step.signal, (some) => deps.endJobs.end(some, step)),
    });
    const turns: Turns = {
      step,
      files,
      slots,
      gates: createGates(at.first),
      readAhead,
      mayBeListed: (job) => job <= at.newest,
      onStopped,
    };
    return { ...turns, createGates };
  }

  /** Until the term is over. */
  function repeat(everyMs: number, what: string, work: () => Promise<void>): void {
    const attempt = () =>
      work().catch((error) => {
        if (!step.signal.aborted)
          log.warn({ err: error }, `could not ${what}; trying again in ${everyMs / 1000} s`);
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
    /** Where the oldest message of a job in flight stands. */
    oldestOffset: () => admission?.oldestOffset(),
    /** Jobs in flight, and where the message of each stands. */
    inFlight: () => admission?.inFlight() ?? new Map<number, bigint | null>(),
  };
}
