/**
 * One job, from accepted to ended: list → load → check → seal → mark → merge → end. Marking and ending wait their turn, so that
 * jobs are merged and finished strictly in the order of their numbers; everything else runs ahead. Nothing is merged before every
 * slot has said that it holds all of the job. Every step can be taken again by a successor: what was decided is in MongoDB before
 * it is acted upon. What fails again and again ends the job if it is not decided, and stops it if it is (deferred-jobs.ts).
 */
import { Binary } from 'mongodb';
import { jobFailureCodes } from '../../../schemas/codes.ts';
import {
  type FileDocument,
  type FileFailure,
  type JobDocument,
  type JobError,
  JobStatus,
} from '../../../schemas/documents.ts';
import type { SlotTotal } from '../../../schemas/topics.ts';
import { createFileRanges } from '../../formats/file-ranges.ts';
import { addPacked, MAX_PAIRS_A_SLOT, noTotals, packTotals } from '../../formats/slot-totals.ts';
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../../runtime/failures.ts';
import type { Logger } from '../../runtime/log.ts';
import { backoff } from '../../runtime/retry.ts';
import type { Step } from '../../runtime/step.ts';
import type { SealedOutcome } from '../../stores/jobs.ts';
import type { Stores } from '../../stores/stores.ts';
import { addUp, noneExpected } from './add-up.ts';
import type { Ending, EndJobs } from './end-jobs.ts';
import type { QuotaHold } from './hold-quotas.ts';
import type { LimitAttributes } from './limit-attributes.ts';
import type { createListFiles } from './list-files.ts';
import type { FileLoader } from './load-files.ts';
import type { JudgedFile } from './loading-job.ts';
import type { StatusPublisher } from './publish-status.ts';
import type { ReadAhead } from './read-ahead.ts';
import type { Sequencer } from './sequencer.ts';
import { SinkFailed, type SlotWatch } from './watch-slots.ts';

export interface RunDependencies
  extends Pick<Stores, 'jobs' | 'files' | 'ledger' | 'audiences' | 'verdicts'> {
  log: Logger;
  listFiles: ReturnType<typeof createListFiles>;
  quotas: Pick<QuotaHold, 'hold'>;
  limitAttributes: LimitAttributes;
  endJobs: EndJobs;
  status: StatusPublisher;
  /** Why the job is no longer wanted. */
  cancellationOf(job: JobDocument): Promise<FileFailure | undefined>;
  /** The files of a job are dispatched again. */
  onRepeated?(): void;
}

export type RunJob = ReturnType<typeof createRunJob>;

/** What the jobs in flight in one term share. */
export interface Turns {
  step: Step<'dispatch'>;
  gates: Gates;
  files: FileLoader;
  slots: SlotWatch;
  readAhead: ReadAhead;
  /** Whether an earlier dispatcher may have begun with the job. */
  mayBeListed(job: number): boolean;
  /** A job was stopped: the term is over, and the next one defers the jobs behind it. */
  onStopped(): void;
}

/** Where jobs wait for those before them: all jobs at the same, deferred ones at those of their space. */
export interface Gates {
  /** Tells the slots to merge a sealed job. Null: there is nothing to merge. */
  markers: Sequencer<JobDocument | null, void>;
  /** Ends a job. Null: it had ended before. */
  ends: Sequencer<Ending | null, JobDocument | null>;
}

export interface OwnTurns extends Turns {
  /** The job's number at the gates. */
  number: number;
  /** Resolves when the job before this one of the same audience has ended: what it loaded is not loaded again. */
  earlierLoad: Promise<void> | undefined;
}

const inOrder = (judged: JudgedFile[] | null) => judged?.sort((a, b) => a.number - b.number);
/** What each slot gets of the files that passed. */
function totalsOf(judged: JudgedFile[]): SlotTotal[] {
  const totals = noTotals();
  for (const { failure, slots } of judged) if (!failure && slots) addPacked(totals, slots);
  return totals;
}
/** Why so much cannot be merged. */
function excessOf(totals: SlotTotal[]): JobError | undefined {
  if (totals.every(({ pairs }) => pairs <= MAX_PAIRS_A_SLOT)) return undefined;
  const all = totals.reduce((sum, { pairs }) => sum + pairs, 0);
  const message = `The files hold ${all} pairs of device and key; one job may load about ${totals.length * MAX_PAIRS_A_SLOT}. Load them with several jobs.`;
  return { code: 'too_many_rows', message };
}
export const nothing = (attempt = 0, errors: JobError[] | null = null): SealedOutcome => ({
  verdict: { passed: [], collapsed: [], attempt, expected: noneExpected },
  rows: 0,
  accepted: 0,
  rejected: {},
  filesDone: 0,
  errors,
});
/** A job is given up when something of it was lost so often. */
const MAX_ATTEMPTS = 3;
const MERGE_PAUSE_MS = 1_000;
const MAX_MERGE_PAUSE_MS = 60_000;

export function createRunJob(deps: RunDependencies) {
  const { jobs, files } = deps;

  /** Lists the files, unless an earlier dispatcher did. Gives the outcome at once where there is nothing to load. */
  async function list(
    job: JobDocument,
    { step, earlierLoad }: OwnTurns,
  ): Promise<{ job: JobDocument; first?: FileDocument[]; outcome?: SealedOutcome }> {
    if (job.phase !== 'accepted') {
      deps.quotas.hold(job);
      return { job };
    }
    await step('make-audience', () => deps.audiences.ensure(job));
    await earlierLoad;
    if (job.kind === 'delete') return { job, outcome: nothing() };
    const listed = await deps.listFiles(job, step);
    if (listed.problem) return { job: listed.job, outcome: nothing(0, [listed.problem]) };
    return listed;
  }

  /** Loads the files, and again if something of them was lost, until every slot holds what the ledger counts. */
  async function load(job: JobDocument, first: FileDocument[] | null, turns: Turns): Promise<SealedOutcome> {
    const { step } = turns;
    const attempt = job.attempt ?? 0;
    const { judged, bytes, refused } = await turns.files.load(job, first);
    const unpacked = bytes > (job.bytes ?? 0) ? { unpackedBytes: bytes } : {};
    if (refused) return { ...nothing(attempt, [refused]), ...unpacked };
    const added = await step.read('add up the files', () =>
      addUp(inOrder(judged) ?? files.decisionsOf(job.listing!), attempt),
    );
    const outcome = { ...added, ...unpacked };
    if (outcome.verdict.passed.length === 0) return outcome;
    const isWanted = createFileRanges(outcome.verdict.passed);
    const totals = judged
      ? totalsOf(judged)
      : await step.read('add up the slots', () =>
          deps.ledger.slotTotals({ job: job._id, attempt, isWanted }),
        );
    const excess = excessOf(totals) ?? (await deps.limitAttributes(job, totals, step));
    if (excess) return nothing(attempt, [excess]);
    const whole = { ...outcome.verdict, expected: new Binary(packTotals(totals)) };
    outcome.verdict = await step('verdict', () => deps.verdicts.keep(job._id, whole));
    const lacking = await turns.slots.check(job, outcome.verdict);
    if (lacking.length === 0) return outcome;
    // What is no longer wanted is not sent any more either, and sealing drops the rest.
    if (await step.read('look for a cancellation', () => deps.cancellationOf(job))) return outcome;
    if (attempt + 1 < MAX_ATTEMPTS) {
      const next = await nextAttempt(job, lacking, turns);
      // Otherwise another dispatcher has sealed it, which sealing will find.
      return next.phase === 'loading' ? load(next, null, turns) : outcome;
    }
    const message = `Devices were lost on their way in each of ${MAX_ATTEMPTS} attempts; nothing was merged.`;
    return { ...nothing(attempt, [{ code: 'ledger_mismatch', message }]), ...unpacked };
  }

  async function nextAttempt(job: JobDocument, lacking: number[], { step }: Turns): Promise<JobDocument> {
    deps.log.warn(
      { job: job._id, attempt: job.attempt ?? 0, slots: lacking },
      'devices were lost in processing: publishing the files again',
    );
    deps.onRepeated?.();
    return step('attempt', () => jobs.nextAttempt(job));
  }

  /** Writes down what will be merged, so that every marker says the same. */
  async function seal(
    job: JobDocument,
    outcome: SealedOutcome,
    step: Step<'dispatch'>,
  ): Promise<JobDocument> {
    // Whether an operator has cancelled it is part of the write's condition; it shows when the job is read again.
    const isCertain = job.audience === null && !job.cancelRequested;
    const cancelled = isCertain
      ? undefined
      : await step.read('look for a cancellation', () => deps.cancellationOf(job));
    const { verdict, unpackedBytes } = outcome;
    const read = unpackedBytes === undefined ? {} : { unpackedBytes };
    const final = cancelled ? { ...nothing(verdict.attempt, [cancelled]), ...read } : outcome;
    return step('seal', () => jobs.seal(job._id, final));
  }

  /** Everything before the merge. The job comes back sealed, or ended or withdrawn by somebody else. */
  async function prepare(job: JobDocument, turns: OwnTurns): Promise<JobDocument> {
    const listed = await list(job, turns);
    const current = listed.job;
    if (current.phase !== 'loading' && current.phase !== 'accepted') return current;
    if (listed.outcome) return seal(current, listed.outcome, turns.step);
    deps.log.info({ job: job._id, files: current.fileCount }, 'loading');
    const announced = listed.first && deps.status.publish(current, turns.step);
    announced?.catch(() => {});
    const outcome = await turns.readAhead.use(job._id, current.bytes ?? 0, () =>
      load(current, listed.first ?? null, turns),
    );
    // Before its end is.
    await announced;
    return seal(current, outcome, turns.step);
  }

  /** A failure of our own that repeats ends the job, and the queue goes on. */
  async function prepareOrFail(job: JobDocument, turns: OwnTurns): Promise<JobDocument> {
    const { step } = turns;
    function fail(current: JobDocument, reason: string): Promise<JobDocument> {
      const problem: JobError = { code: 'internal_error', message: jobFailureCodes.internal_error };
      const outcome = { ...nothing(current.attempt, [problem]), internalReason: `dispatch: ${reason}` };
      return seal(current, outcome, step);
    }
    const failures = countFailures();
    for (let current = job; ; ) {
      try {
        const isGivenUp = failures.count >= MAX_FAILURES;
        const prepared = await (isGivenUp ? fail(current, failures.reason) : prepare(current, turns));
        // Still loading: it was to be cancelled at the last moment, or another dispatcher has begun its next attempt.
        if (prepared.phase !== 'loading' && prepared.phase !== 'accepted') return prepared;
      } catch (error) {
        step.signal.throwIfAborted();
        failures.add(error);
        const { count } = failures;
        deps.log.error(
          { job: job._id, err: error, failures: count },
          'the service failed to process the job',
        );
        // Sinks have given up this attempt, and with it the decision that nothing is merged.
        if (error instanceof SinkFailed) await step('attempt', () => jobs.nextAttempt(error.job));
        await step.pause(FAILURE_PAUSE_MS * count);
      }
      current = (await step.read('read the job', () => jobs.find(job._id))) ?? current;
    }
  }

  /** Has every slot merge the job, and gives it as it is then. What was lost since the check is loaded again: the decision stands. */
  async function merge(job: JobDocument, turns: OwnTurns): Promise<JobDocument> {
    await turns.gates.markers.pass(turns.number, job);
    let current = job;
    let tries = 0;
    for (let lacking = await turns.slots.merged(current); lacking.length > 0; ) {
      // It cannot be loaded again: its file is gone, too.
      if (tries === MAX_ATTEMPTS)
        throw new SinkFailed(
          current,
          `slots ${lacking.join(', ')} miss devices that could not be loaded again`,
        );
      if (tries > 0) await turns.step.pause(backoff(tries, MERGE_PAUSE_MS, MAX_MERGE_PAUSE_MS));
      tries++;
      // After sealing only a clear can be it: split and validate would not send anything of it any more, and whatever a slot has
      // merged of it is of a generation that nobody sees.
      const cancelled = await turns.step.read('look for a cancellation', () => deps.cancellationOf(current));
      current = await (cancelled
        ? turns.step('attempt', () => jobs.drop(current, nothing((current.attempt ?? 0) + 1, [cancelled])))
        : nextAttempt(current, lacking, turns));
      // Otherwise another dispatcher has ended it.
      if (current.phase !== 'sealed') return current;
      if (!cancelled) await turns.files.load(current, null);
      await turns.slots.mark([current]);
      lacking = await turns.slots.merged(current);
    }
    return current;
  }

  /** Merges and ends a decided job. `ended` is null if it had ended before. */
  async function commit(job: JobDocument, turns: OwnTurns) {
    const { step, gates, number } = turns;
    // Delete listings left by dispatchers that crashed before freezing theirs.
    if (job.listed || turns.mayBeListed(job._id))
      await step('forget-lists', () => files.forgetOthers(job._id, job.listing));
    let current = job;
    if (current.phase === 'sealed') current = await merge(current, turns);
    else await gates.markers.pass(number, null);
    // What a load adds to its audience is counted after the load before it, whatever became of the two.
    await turns.earlierLoad;
    const ending = current.phase === 'sealed' ? await deps.endJobs.conclude(current, step) : null;
    return { current, ended: await gates.ends.pass(number, ending) };
  }

  /** A decided job cannot be given up: one that cannot be merged waits for an operator, and its dependants with it. */
  async function commitOrStop(job: JobDocument, turns: OwnTurns) {
    const { step } = turns;
    const failures = countFailures();
    for (let current = job; ; ) {
      try {
        return await commit(current, turns);
      } catch (error) {
        step.signal.throwIfAborted();
        failures.add(error);
        const { count, reason } = failures;
        deps.log.error({ job: job._id, err: error, failures: count }, 'the service failed to merge the job');
        // A sink has tried often enough.
        if (error instanceof SinkFailed) await stop(error.job, error.message, turns);
        else if (count >= MAX_FAILURES) await stop(current, `dispatch: ${reason}`, turns);
        await step.pause(FAILURE_PAUSE_MS * count);
      }
      current = (await step.read('read the job', () => jobs.find(job._id))) ?? current;
    }
  }

  async function stop(job: JobDocument, reason: string, { step, onStopped }: OwnTurns): Promise<void> {
    const stopped = await step('stop', () => jobs.stop(job, reason));
    if (!stopped.stoppedAt) return;
    deps.log.error(
      { job: job._id, audience: job.audience, reason },
      'job stopped: it is decided and cannot be merged; retry or drop it with headrace admin job',
    );
    onStopped();
  }

  return async (job: JobDocument, turns: OwnTurns): Promise<void> => {
    const { step } = turns;
    const log = deps.log.child({ job: job._id });
    const { current: merged, ended } = await commitOrStop(await prepareOrFail(job, turns), turns);
    const current = ended ?? merged;
    if (ended) await deps.status.publishEnd(ended, step);
    if (current.status === JobStatus.error) log.warn({ errors: current.errors }, 'ended with errors');
    else
      log.info({ phase: current.phase, rows: current.rows, unique_devices: current.uniqueDevices }, 'ended');
  };
}
