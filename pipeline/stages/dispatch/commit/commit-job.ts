/**
 * The second half of a job: decide → commit → acknowledge → end. Decisions and ends pass a sequencer, so the jobs of a lane commit and end
 * in order. A decided job whose commit fails repeatedly is stopped, and its lane with it.
 */
import type { FileFailure, JobDocument } from '../../../../schemas/job-documents.ts';
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../../../engine/failures.ts';
import { backoff } from '../../../engine/retry.ts';
import type { Logger } from '../../../runtime/log.ts';
import { isUndecided } from '../../../stores/jobs/jobs.ts';
import type { Stores } from '../../../stores/stores.ts';
import { MAX_ATTEMPTS, type RepeatJob } from '../load/repeat-job.ts';
import { NotDecided, type OwnTurns, type ReadyJob } from '../turns.ts';
import { nothing } from './add-up-files.ts';
import { SinkFailed } from './coordinate-slots.ts';
import type { EndJobs } from './end-jobs.ts';
import { internalError } from './prepare-job.ts';

export interface CommitJobDependencies extends Pick<Stores, 'jobs' | 'files' | 'audiences'> {
  log: Logger;
  endJobs: Pick<EndJobs, 'conclude'>;
  repeatJob: RepeatJob;
  /** Why the job is cancelled, if it is. */
  cancellationOf(job: JobDocument): Promise<FileFailure | undefined>;
}

/** The current job. `isEnded`: it was ended by this call. */
interface Committed {
  job: JobDocument;
  isEnded: boolean;
}

const COMMIT_PAUSE_MS = 1_000;
const MAX_COMMIT_PAUSE_MS = 60_000;
const LOOK_MS = 1_000;

export type CommitJob = ReturnType<typeof createCommitJob>;

export function createCommitJob(deps: CommitJobDependencies) {
  const { jobs, files } = deps;

  const dropCancelled = (job: JobDocument, cancelled: FileFailure, { step }: OwnTurns) =>
    step('attempt', () => jobs.drop(job, nothing((job.attempt ?? 0) + 1, [cancelled])));

  /** Resolves when every slot has committed the job. Devices lost since the vote are loaded again: a decision is final. */
  async function untilCommitted(job: JobDocument, turns: OwnTurns): Promise<JobDocument> {
    let current = job;
    let tries = 0;
    for (let missing = await turns.slots.acknowledged(current); missing.length > 0; ) {
      if (tries === MAX_ATTEMPTS)
        throw new SinkFailed(
          current,
          `slots ${missing.join(', ')} miss devices, and loading them again failed`,
        );
      if (tries > 0) await turns.step.pause(backoff(tries, COMMIT_PAUSE_MS, MAX_COMMIT_PAUSE_MS));
      tries++;
      // After the decision only a clear cancels: the stages send no more of the job, and what is merged belongs to an old generation.
      const cancelled = await turns.step.read('look for a cancellation', () => deps.cancellationOf(current));
      current = await (cancelled
        ? dropCancelled(current, cancelled, turns)
        : deps.repeatJob(current, missing, turns.step));
      // Another dispatcher has ended it.
      if (current.phase !== 'decided') return current;
      if (!cancelled) await turns.files.load(current, null);
      await turns.slots.commit([current]);
      missing = await turns.slots.acknowledged(current);
    }
    return current;
  }

  /** Resolves when the job is no longer stopped. */
  async function untilResumed(job: JobDocument, turns: OwnTurns): Promise<JobDocument> {
    const { step } = turns;
    for (let current = job; ; ) {
      if (!current.stoppedAt) return current;
      const stopped = current;
      const cancelled = await step.read('look for a cancellation', () => deps.cancellationOf(stopped));
      if (cancelled && !stopped.dropRequested) await dropCancelled(stopped, cancelled, turns);
      else await step.pause(LOOK_MS);
      current = (await step.read('read the job', () => jobs.find(job._id)))!;
    }
  }

  /** Decides, commits and ends a job. */
  async function commit({ job, outcome }: ReadyJob, turns: OwnTurns): Promise<Committed> {
    const { step, gates, number } = turns;
    // Delete listings left by dispatchers that crashed before freezing theirs.
    if (job.listed || turns.mayBeListed(job._id))
      await step('forget-lists', () => files.forgetOthers(job._id, job.listing));
    const ready = outcome ? { job, outcome } : { job: await untilResumed(job, turns) };
    const isOver = ready.job.phase === 'ended' || ready.job.phase === 'withdrawn';
    let current = (await gates.commits.pass(number, isOver ? null : ready)) ?? ready.job;
    if (current.phase === 'decided') current = await untilCommitted(current, turns);
    // A load that failed before its files were read: it could be withdrawn until it was decided.
    if (
      current.phase === 'decided' &&
      current.audience === current._id &&
      current.verdict!.passed.length === 0
    )
      await step('make-audience', () => deps.audiences.ensure(current));
    // The counts of an audience are updated in the order of its loads.
    await turns.earlierLoad;
    const ending = current.phase === 'decided' ? await deps.endJobs.conclude(current, step) : null;
    const ended = await gates.ends.pass(number, ending);
    return { job: ended ?? current, isEnded: ended !== null };
  }

  /** Returns the current job: stopped, unless another dispatcher has advanced it. */
  async function stop(job: JobDocument, reason: string, { step }: OwnTurns): Promise<ReadyJob> {
    const stopped = await step('stop', () => jobs.stop(job, reason));
    if (stopped.stoppedAt)
      deps.log.error(
        { job: job._id, audience: job.audience, reason },
        'job stopped: it is decided and cannot be merged; retry or drop it with headrace admin job',
      );
    return { job: stopped };
  }

  /** A decided job cannot fail: if it cannot be committed, it and its lane wait for an operator. */
  return async (first: ReadyJob, turns: OwnTurns): Promise<Committed> => {
    const { step } = turns;
    let failures = countFailures();
    for (let ready = first; ; ) {
      try {
        return await commit(ready, turns);
      } catch (error) {
        step.signal.throwIfAborted();
        if (error instanceof NotDecided) return { job: error.job, isEnded: false };
        failures.add(error);
        const { count, reason } = failures;
        const { _id } = ready.job;
        deps.log.error({ job: _id, err: error, failures: count }, 'the service failed to commit the job');
        const current = (await step.read('read the job', () => jobs.find(_id))) ?? ready.job;
        ready = isUndecided(current) ? { job: current, outcome: ready.outcome! } : { job: current };
        const isTooOften = count >= MAX_FAILURES;
        if (isTooOften && ready.outcome) ready = { job: current, outcome: internalError(current, reason) };
        else if (error instanceof SinkFailed) ready = await stop(error.job, error.message, turns);
        else if (isTooOften) ready = await stop(current, `dispatch: ${reason}`, turns);
        if (isTooOften) failures = countFailures();
        await step.pause(FAILURE_PAUSE_MS * count);
      }
    }
  };
}
