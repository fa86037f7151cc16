/**
 * The second half of a job: commit → acknowledge → end. Commits and ends wait their turn, so that jobs are merged and finished in the order
 * of their numbers. A decided job whose commit fails repeatedly is stopped (admit/defer-jobs.ts).
 */
import type { FileFailure, JobDocument } from '../../../../schemas/documents.ts';
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../../../engine/failures.ts';
import { backoff } from '../../../engine/retry.ts';
import type { Logger } from '../../../runtime/log.ts';
import type { Stores } from '../../../stores/stores.ts';
import { MAX_ATTEMPTS, type RepeatJob } from '../load/repeat-job.ts';
import type { OwnTurns } from '../turns.ts';
import { nothing } from './add-up-files.ts';
import { SinkFailed } from './coordinate-slots.ts';
import type { EndJobs } from './end-jobs.ts';

export interface CommitJobDependencies extends Pick<Stores, 'jobs' | 'files'> {
  log: Logger;
  endJobs: Pick<EndJobs, 'conclude'>;
  repeatJob: RepeatJob;
  /** Why the job is cancelled, if it is. */
  cancellationOf(job: JobDocument): Promise<FileFailure | undefined>;
}

const COMMIT_PAUSE_MS = 1_000;
const MAX_COMMIT_PAUSE_MS = 60_000;

export type CommitJob = ReturnType<typeof createCommitJob>;

export function createCommitJob(deps: CommitJobDependencies) {
  const { jobs, files } = deps;

  /** Has every slot commit the job, and returns it as it is then. Devices lost since the vote are loaded again: the decision stands. */
  async function commitInSlots(job: JobDocument, turns: OwnTurns): Promise<JobDocument> {
    await turns.gates.commits.pass(turns.number, job);
    let current = job;
    let tries = 0;
    for (let missing = await turns.slots.acknowledged(current); missing.length > 0; ) {
      if (tries === MAX_ATTEMPTS)
        throw new SinkFailed(
          current,
          `slots ${missing.join(', ')} miss devices that could not be loaded again`,
        );
      if (tries > 0) await turns.step.pause(backoff(tries, COMMIT_PAUSE_MS, MAX_COMMIT_PAUSE_MS));
      tries++;
      // After the decision only a clear cancels: the stages send nothing of it, and what a slot has merged is of an old generation.
      const cancelled = await turns.step.read('look for a cancellation', () => deps.cancellationOf(current));
      current = await (cancelled
        ? turns.step('attempt', () => jobs.drop(current, nothing((current.attempt ?? 0) + 1, [cancelled])))
        : deps.repeatJob(current, missing, turns.step));
      // Otherwise another dispatcher has ended it.
      if (current.phase !== 'decided') return current;
      if (!cancelled) await turns.files.load(current, null);
      await turns.slots.commit([current]);
      missing = await turns.slots.acknowledged(current);
    }
    return current;
  }

  /** Commits and ends a decided job. `ended` is null if it had ended before. */
  async function commit(job: JobDocument, turns: OwnTurns) {
    const { step, gates, number } = turns;
    // Delete listings left by dispatchers that crashed before freezing theirs.
    if (job.listed || turns.mayBeListed(job._id))
      await step('forget-lists', () => files.forgetOthers(job._id, job.listing));
    let current = job;
    if (current.phase === 'decided') current = await commitInSlots(current, turns);
    else await gates.commits.pass(number, null);
    // What a load adds to its audience is counted after the previous load.
    await turns.earlierLoad;
    const ending = current.phase === 'decided' ? await deps.endJobs.conclude(current, step) : null;
    return { current, ended: await gates.ends.pass(number, ending) };
  }

  /** A decided job cannot fail: if it cannot be committed it waits for an operator, and its dependants with it. */
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
        deps.log.error({ job: job._id, err: error, failures: count }, 'the service failed to commit the job');
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

  return commitOrStop;
}
