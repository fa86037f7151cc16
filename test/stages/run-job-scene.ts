/** A job that dispatch runs, with a record of its actions, and an operator. */
import { noTotals } from '../../pipeline/formats/slot-totals.ts';
import {
  type CommitJobDependencies,
  createCommitJob,
} from '../../pipeline/stages/dispatch/commit/commit-job.ts';
import { createCommitReady } from '../../pipeline/stages/dispatch/commit/commit-ready.ts';
import { SinkFailed, type SlotCoordinator } from '../../pipeline/stages/dispatch/commit/coordinate-slots.ts';
import {
  createPrepareJob,
  type PrepareJobDependencies,
} from '../../pipeline/stages/dispatch/commit/prepare-job.ts';
import type { JudgedFile } from '../../pipeline/stages/dispatch/load/loading-job.ts';
import { createRunJob } from '../../pipeline/stages/dispatch/run-job.ts';
import { createSequencer } from '../../pipeline/stages/dispatch/sequencer.ts';
import {
  type Gates,
  NotDecided,
  type OwnTurns,
  type ReadyJob,
} from '../../pipeline/stages/dispatch/turns.ts';
import { type Decision, isUndecided, type JobDecision } from '../../pipeline/stores/jobs/jobs.ts';
import type { FileFailure, JobDocument, JobError } from '../../schemas/job-documents.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

export const good = {
  number: 0,
  path: 'a.csv',
  rows: 3,
  accepted: 3,
  rejected: {},
  failure: null,
} as unknown as JudgedFile;

interface Given {
  job?: Partial<JobDocument>;
  judged?: JudgedFile;
  problem?: JobError;
  cancelled?: FileFailure;
  /** Slots that miss devices, by vote. */
  missing?: number[][];
  /** Slots that miss devices at the commit. */
  missingAtCommit?: number[][];
  /** Returned from the decision on. */
  clearedWhenDecided?: FileFailure;
  failsToList?: number;
  tooMany?: JobError;
  failsToEnd?: number;
  sinkFails?: string;
  failsToVote?: string;
  /** An operator cancels the job just before its decision. */
  cancelledLate?: FileFailure;
  /** Called each time the stopped job is checked. Without it, the term ends then. */
  whileStopped?(operator: Operator): void;
}

export interface Operator {
  resume(fields?: Partial<JobDocument>): void;
  repair(): void;
  clear(failure: FileFailure): void;
}

export function setUp(given: Given = {}) {
  const { job = {}, problem, cancelled, missing = [], missingAtCommit = [], cancelledLate } = given;
  const { judged = good, tooMany } = given;
  let { failsToList = 0, failsToEnd = 0, sinkFails, clearedWhenDecided } = given;
  const environment = recordingEnvironment('dispatch');
  const { actions } = environment;
  const term = new AbortController();
  const endTerm = () => term.abort(new Error('stopping'));
  let current = aJob(job);
  const operator: Operator = {
    resume(fields = {}) {
      const { stoppedAt: _, ...rest } = current;
      current = { ...rest, attempt: (rest.attempt ?? 0) + 1, ...fields };
    },
    repair() {
      sinkFails = undefined;
    },
    clear(failure) {
      clearedWhenDecided = failure;
    },
  };
  const { whileStopped = endTerm } = given;
  const step = Object.assign(environment.step, {
    signal: term.signal,
    async pause() {
      if (current.stoppedAt) whileStopped(operator);
      term.signal.throwIfAborted();
    },
  });
  let concluded: JobDocument | undefined;
  function take<T>(name: string, result?: T): T {
    actions.push(name);
    return result as T;
  }
  const set = async (fields: Partial<JobDocument>) => {
    current = { ...current, ...fields };
    return current;
  };
  const deps = {
    ...environment,
    jobs: {
      async decide([{ outcome }]: [JobDecision]) {
        const isLate = cancelledLate && !current.cancelRequested;
        return [await set(isLate ? { cancelRequested: true } : { phase: 'decided', ...outcome })];
      },
      nextAttempt: () => set({ attempt: (current.attempt ?? 0) + 1 }),
      async drop(_: JobDocument, outcome: Decision) {
        operator.resume({ ...outcome, attempt: outcome.verdict.attempt!, dropRequested: true });
        return current;
      },
      find: async () => current,
      stop: (_: JobDocument, internalReason: string) => set({ stoppedAt: new Date(), internalReason }),
    },
    files: { forgetOthers: async () => {} },
    ledger: { slotTotals: async () => noTotals() },
    verdicts: { keep: async (_: number, verdict: unknown) => verdict },
    audiences: { ensure: async () => {} },
    async listFiles() {
      if (failsToList-- > 0) throw new Error('it cannot');
      take('list');
      if (problem) return { job: current, problem };
      return { job: await set({ phase: 'listed', listing: 'l', fileCount: 1 }), first: [] };
    },
    async cancellationOf() {
      if (current.phase === 'decided') return clearedWhenDecided;
      return current.cancelRequested ? cancelledLate : cancelled;
    },
    laneOf: () => 'a lane',
    numberEvents: async () => {},
    quotas: { hold() {} },
    limitAttributes: async () => tooMany,
    status: {
      publish: async () => take('publish running'),
      publishEnd: async () => take<void>('publish end'),
    },
    endJobs: {
      async conclude(job: JobDocument) {
        concluded = job;
        return take('conclude', { status: 2 });
      },
    },
    repeatJob: () => step('attempt', () => set({ attempt: (current.attempt ?? 0) + 1 })),
  };
  const run = createRunJob({
    ...environment,
    status: deps.status,
    prepareJob: createPrepareJob(deps as unknown as PrepareJobDependencies),
    commitJob: createCommitJob(deps as unknown as CommitJobDependencies),
  });
  const commitReady = createCommitReady(deps as unknown as Parameters<typeof createCommitReady>[0]);
  const slots = {
    async prepare(job: JobDocument) {
      if (given.failsToVote) throw new SinkFailed(job, given.failsToVote);
      return take('vote', missing.shift() ?? []);
    },
    commit: async (some: JobDocument[]) => some.length > 0 && take('commit'),
    async acknowledged(job: JobDocument) {
      if (sinkFails) throw new SinkFailed(job, sinkFails);
      return take('acknowledge', missingAtCommit.shift() ?? []);
    },
  } as unknown as SlotCoordinator;
  const gates: Gates = {
    commits: createSequencer(0, term.signal, async (some) => {
      const jobs = await commitReady(some as ReadyJob[], slots, step);
      if (isUndecided(jobs[0]!)) throw new NotDecided(jobs[0]!);
      return jobs;
    }),
    ends: createSequencer(0, term.signal, async (some) => {
      if (some[0] === null) return some as null[];
      if (failsToEnd-- > 0) throw new Error('it cannot');
      return [await take('end', set({ phase: 'ended' }))];
    }),
  };
  const turns = {
    step,
    files: { load: async () => take('load', { judged: [judged], bytes: 0 }) },
    slots,
    gates,
    number: 0,
    readAhead: { use: (_: number, __: number, load: () => Promise<unknown>) => load() },
    mayBeListed: () => false,
  } as unknown as OwnTurns;
  return {
    actions,
    gates,
    run: () => run(current, { ...turns, earlierLoad: undefined }),
    job: () => current,
    concluded: () => concluded,
  };
}

export const merging = ['commit', 'acknowledge', 'conclude', 'end', 'publish end'];
/** Nothing of a load: its audience may not exist. */
export const mergingNothing = ['commit', 'acknowledge', 'make-audience', 'conclude', 'end', 'publish end'];
export const loading = ['list', 'publish running', 'load', 'make-audience', 'verdict', 'vote'];
