/** What dispatch does with a job, step by step, from accepted to ended. */
import { expect, it } from 'vitest';
import { MAX_PAIRS_A_SLOT, noTotals, packTotals } from '../../pipeline/formats/slot-totals.ts';
import { nothing } from '../../pipeline/stages/dispatch/commit/add-up-files.ts';
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
import type { FileFailure, JobDocument, JobError } from '../../schemas/documents.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

const good = {
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
  /** Slots that miss devices, at each vote in turn. */
  missing?: number[][];
  /** The same at the commit. */
  missingAtCommit?: number[][];
  /** Found from then on. */
  clearedWhenDecided?: FileFailure;
  failsToList?: number;
  tooMany?: JobError;
  failsToEnd?: number;
  sinkFails?: string;
  failsToVote?: string;
  /** An operator cancels it when it is about to be decided. */
  cancelledLate?: FileFailure;
  /** Each time that the stopped job is looked at. Unless there is something, the term ends. */
  whileStopped?(operator: Operator): void;
}

interface Operator {
  goOn(fields?: Partial<JobDocument>): void;
  repair(): void;
  clear(failure: FileFailure): void;
}

function setUp(given: Given = {}) {
  const { job = {}, problem, cancelled, missing = [], missingAtCommit = [], cancelledLate } = given;
  const { judged = good, tooMany } = given;
  let { failsToList = 0, failsToEnd = 0, sinkFails, clearedWhenDecided } = given;
  const environment = recordingEnvironment('dispatch');
  const { actions } = environment;
  const term = new AbortController();
  const endTerm = () => term.abort(new Error('stopping'));
  let current = aJob(job);
  const operator: Operator = {
    goOn(fields = {}) {
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
        operator.goOn({ ...outcome, attempt: outcome.verdict.attempt!, dropRequested: true });
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

const merging = ['commit', 'acknowledge', 'conclude', 'end', 'publish end'];
const loading = ['make-audience', 'list', 'publish running', 'load', 'verdict', 'vote'];

it('a load: listed, loaded, voted on, decided, committed, ended, published', async () => {
  const { run, actions } = setUp();
  await run();
  expect(actions).toEqual([...loading, 'decide', ...merging]);
});

it('a deletion has nothing to list', async () => {
  const { run, actions } = setUp({ job: { kind: 'delete', audience: null } });
  await run();
  expect(actions).toEqual(['make-audience', 'decide', ...merging]);
});

it('one that may change too many attributes is refused before anything is decided', async () => {
  const tooMany: JobError = { code: 'too_many_attributes', message: 'too many' };
  const { run, actions, job } = setUp({ tooMany });
  await run();
  expect(actions).toEqual(['make-audience', 'list', 'publish running', 'load', 'decide', ...merging]);
  expect(job()).toMatchObject({ verdict: { passed: [] }, errors: [tooMany] });
});

it('what was lost on the way is loaded again before anything is decided', async () => {
  const { run, actions } = setUp({ missing: [[3]] });
  await run();
  expect(actions).toEqual([...loading, 'attempt', 'load', 'verdict', 'vote', 'decide', ...merging]);
});

it('lost in every attempt: nothing is merged', async () => {
  const { run, job } = setUp({ missing: [[3], [3], [3]] });
  await run();
  expect(job()).toMatchObject({ errors: [{ code: 'ledger_mismatch' }], verdict: { passed: [] } });
});

it('more than one job may load: it fails before anything is decided', async () => {
  const totals = [...noTotals(2), { pairs: MAX_PAIRS_A_SLOT, checksum: 1 }];
  const most = setUp({ judged: { ...good, slots: packTotals(totals) } });
  await most.run();
  expect(most.job()).toMatchObject({ errors: null, verdict: { passed: [0, 0] } });
  totals[2]!.pairs++;
  const more = setUp({ judged: { ...good, slots: packTotals(totals) } });
  await more.run();
  expect(more.actions).not.toContain('vote');
  expect(more.job()).toMatchObject({ errors: [{ code: 'too_many_rows' }], verdict: { passed: [] } });
});

it('a job without files, or one that was cancelled, is decided with nothing to merge', async () => {
  const none = setUp({ problem: { code: 'no_files', message: 'none' } });
  await none.run();
  expect(none.job()).toMatchObject({ errors: [{ code: 'no_files' }], verdict: { passed: [] } });
  const cancelled = setUp({ cancelled: { code: 'cancelled', message: 'it was cleared' } });
  await cancelled.run();
  expect(cancelled.job()).toMatchObject({ errors: [{ code: 'cancelled' }], verdict: { passed: [] } });
});

it('what was lost when it is to be merged is loaded again: the decision stands', async () => {
  const { run, actions, job } = setUp({ missingAtCommit: [[3]] });
  await run();
  const again = [
    'commit',
    'acknowledge',
    'attempt',
    'load',
    'commit',
    'acknowledge',
    'conclude',
    'end',
    'publish end',
  ];
  expect(actions).toEqual([...loading, 'decide', ...again]);
  expect(job().verdict!.passed).not.toEqual([]);
});

it('the same after a clear: nothing is loaded or merged any more, and it ends', async () => {
  const cleared: FileFailure = { code: 'cancelled', message: 'it was cleared' };
  const { run, actions, concluded } = setUp({ missingAtCommit: [[3]], clearedWhenDecided: cleared });
  await run();
  const dropped = [
    'commit',
    'acknowledge',
    'attempt',
    'commit',
    'acknowledge',
    'conclude',
    'end',
    'publish end',
  ];
  expect(actions).toEqual([...loading, 'decide', ...dropped]);
  expect(concluded()).toMatchObject({
    attempt: 1,
    rows: 0,
    errors: [cleared],
    verdict: { passed: [], attempt: 1 },
  });
});

it('a failure of our own is tried again; the third time it ends the job', async () => {
  const { run, job, actions } = setUp({ failsToList: 3 });
  await run();
  expect(job()).toMatchObject({
    errors: [{ code: 'internal_error' }],
    internalReason: 'dispatch: Error: it cannot',
  });
  expect(actions.slice(-6)).toEqual(['decide', ...merging]);
});

it('a job that a sink cannot vote on fails, the third time; the decision is none of the attempts that sinks have given up', async () => {
  const { run, job } = setUp({ failsToVote: 'sink: RangeError: too large' });
  await run();
  expect(job()).toMatchObject({
    phase: 'ended',
    attempt: 3,
    internalReason: 'dispatch: SinkFailed: sink: RangeError: too large',
    errors: [{ code: 'internal_error' }],
    verdict: { passed: [], attempt: 3 },
  });
});

it('one that an operator cancels at the last moment is decided again, with nothing to merge', async () => {
  const cancelledLate: FileFailure = { code: 'cancelled', message: 'An operator cancelled the job.' };
  const { run, job, actions } = setUp({ cancelledLate });
  await run();
  expect(actions).toEqual([...loading, 'decide', 'load', 'verdict', 'vote', 'decide', ...merging]);
  expect(job()).toMatchObject({ errors: [cancelledLate], verdict: { passed: [] } });
});

it('a decided job that a sink cannot merge is stopped: the decision stands, and the job waits', async () => {
  const { run, job, actions } = setUp({ sinkFails: 'sink: RangeError: too large' });
  await expect(run()).rejects.toThrow('stopping');
  expect(job()).toMatchObject({
    phase: 'decided',
    stoppedAt: expect.any(Date),
    internalReason: 'sink: RangeError: too large',
    errors: null,
  });
  expect(actions).toEqual([...loading, 'decide', 'commit', 'stop']);
});

it('so is one that dispatch cannot end, the third time; it is merged once', async () => {
  const twice = setUp({ failsToEnd: 2 });
  await twice.run();
  expect(twice.job().phase).toBe('ended');
  const { run, job } = setUp({ failsToEnd: 3 });
  await expect(run()).rejects.toThrow('stopping');
  expect(job()).toMatchObject({ phase: 'decided', internalReason: 'dispatch: Error: it cannot' });
});

it('and one whose devices are lost after the decision and cannot be loaded again', async () => {
  const { run, job, actions } = setUp({ missingAtCommit: [[3], [3], [3], [3]] });
  await expect(run()).rejects.toThrow('stopping');
  expect(job()).toMatchObject({ phase: 'decided', attempt: 3, stoppedAt: expect.any(Date) });
  expect(actions.filter((action) => action === 'load')).toHaveLength(4);
});

/** At the fifth look at the stopped job. */
const later = (act: (operator: Operator) => void) => {
  let looks = 0;
  return (operator: Operator) => {
    if (++looks === 5) act(operator);
  };
};
const stopped = [...loading, 'decide', 'commit', 'stop'];

it('a stopped job is left alone until an operator retries it; then it goes on, and its lane behind it', async () => {
  const passed: string[] = [];
  const { run, job, actions, gates } = setUp({
    sinkFails: 'sink: RangeError: too large',
    whileStopped: later((operator) => {
      passed.push(...actions);
      operator.repair();
      operator.goOn();
    }),
  });
  const next = gates.ends.pass(1, null).then(() => passed.push('the next job'));
  await run();
  await next;
  expect(passed).toEqual([...stopped, 'the next job']);
  expect(actions).toEqual([...stopped, ...merging]);
  expect(job()).toMatchObject({ phase: 'ended', attempt: 1, errors: null });
});

it('the same if he drops it', async () => {
  const { run, concluded, actions } = setUp({
    sinkFails: 'sink: RangeError: too large',
    whileStopped: later((operator) => {
      operator.repair();
      operator.goOn({ dropRequested: true });
    }),
  });
  await run();
  expect(actions).toEqual([...stopped, ...merging]);
  expect(concluded()).toMatchObject({ dropRequested: true, attempt: 1 });
});

it('or if its audience is cleared, which drops it', async () => {
  const cleared: FileFailure = { code: 'cancelled', message: 'it was cleared' };
  const { run, concluded, actions } = setUp({
    sinkFails: 'sink: RangeError: too large',
    whileStopped: later((operator) => {
      operator.repair();
      operator.clear(cleared);
    }),
  });
  await run();
  expect(actions).toEqual([...stopped, 'attempt', ...merging]);
  expect(concluded()).toMatchObject({ dropRequested: true, attempt: 1, errors: [cleared] });
});

it('one that an earlier dispatcher has stopped is not committed before that either', async () => {
  const { passed, ...rest } = nothing().verdict;
  const { run, job, actions } = setUp({
    job: { phase: 'decided', stoppedAt: new Date(), verdict: { ...rest, passed: [...passed, 0, 0] } },
    whileStopped: later((operator) => {
      expect(actions).toEqual([]);
      operator.goOn();
    }),
  });
  await run();
  expect(actions).toEqual(merging);
  expect(job()).toMatchObject({ phase: 'ended', attempt: 1 });
});
