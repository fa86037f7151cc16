/**
 * Decides jobs that every slot has voted for, then sends the commit markers. Jobs of a lane go in order, jobs of different lanes together.
 * The decision is stored before any slot acts on it.
 */
import type { FileFailure, JobDocument } from '../../../../schemas/job-documents.ts';
import type { Decision, JobStore } from '../../../stores/jobs/jobs.ts';
import type { DispatchStep } from '../steps.ts';
import type { ReadyJob } from '../turns.ts';
import { nothing } from './add-up-files.ts';
import type { SlotCoordinator } from './coordinate-slots.ts';
import type { NumberEvents } from './number-events.ts';

interface Dependencies {
  jobs: Pick<JobStore, 'decide'>;
  numberEvents: NumberEvents;
  laneOf(job: JobDocument): string;
  /** Why the job is cancelled, if it is. */
  cancellationOf(job: JobDocument): Promise<FileFailure | undefined>;
}

export type CommitReady = ReturnType<typeof createCommitReady>;

export function createCommitReady({ jobs, numberEvents, laneOf, cancellationOf }: Dependencies) {
  async function unlessCancelled(job: JobDocument, outcome: Decision, step: DispatchStep): Promise<Decision> {
    // An operator's cancellation is part of the write's filter, so only a clear needs a look-up.
    const isCertain = job.audience === null && !job.cancelRequested;
    const cancelled = isCertain
      ? undefined
      : await step.read('look for a cancellation', () => cancellationOf(job));
    const { verdict, unpackedBytes } = outcome;
    const read = unpackedBytes === undefined ? {} : { unpackedBytes };
    return cancelled ? { ...nothing(verdict.attempt, [cancelled]), ...read } : outcome;
  }

  /** Returns the current jobs. A job that is still undecided was cancelled meanwhile, or follows such a job in its lane. */
  return async (ready: ReadyJob[], slots: SlotCoordinator, step: DispatchStep): Promise<JobDocument[]> => {
    const undecided = ready.flatMap(({ job, outcome }) => (outcome ? [{ job, outcome }] : []));
    const decisions = await Promise.all(
      undecided.map(async ({ job, outcome }) => {
        return { id: job._id, lane: laneOf(job), outcome: await unlessCancelled(job, outcome, step) };
      }),
    );
    const decided = decisions.length > 0 ? await step('decide', () => jobs.decide(decisions)) : [];
    const changed = new Map(decided.map((job) => [job._id, job]));
    const current = ready.map(({ job }) => changed.get(job._id) ?? job);
    const committing = current.filter(({ phase }) => phase === 'decided');
    await numberEvents(committing, step);
    await slots.commit(committing);
    return current;
  };
}
