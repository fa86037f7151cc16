/**
 * Deferred jobs: a decided job whose merge was given up is stopped, and the jobs behind it that change the same space (the same
 * audience, or the marketplace) wait until an operator retries or drops it. They leave the order of all jobs, so that the others go on:
 * each such space has a lane, in which they are merged and end in the order of their numbers. A lane exists until its last job has
 * ended; what comes meanwhile for its space joins it.
 *
 * Which jobs are deferred, and which are stopped, is in MongoDB: the next term finds the same lanes.
 */
import type { FileFailure, JobDocument } from '../../../../schemas/documents.ts';
import type { DeferredJob, JobStore } from '../../../stores/jobs/jobs.ts';
import { nothing } from '../commit/add-up-files.ts';
import type { DispatchStep } from '../steps.ts';
import type { Gates } from '../turns.ts';
import type { QuotaHold } from './hold-quotas.ts';

export interface DeferredDependencies {
  jobs: Pick<JobStore, 'find' | 'defer' | 'drop' | 'hasEarlierInSpace'>;
  quotas: Pick<QuotaHold, 'hold'>;
  /** How many jobs of a lane may be in flight. */
  jobWindow: number;
  /** Why the job is no longer wanted. */
  cancellationOf(job: JobDocument): Promise<FileFailure | undefined>;
}

interface Term {
  step: DispatchStep;
  /** Unfinished jobs that were deferred before, in the order of their numbers. */
  deferred: DeferredJob[];
  createGates(first: number): Gates;
  /** Runs the job to its end. Never rejects. */
  run(job: JobDocument, place: Place): Promise<void>;
  onError(error: unknown): void;
}

/** The job's gates and its number at them; the load before it of the same audience. */
export interface Place {
  gates: Gates;
  number: number;
  earlierLoad: Promise<void> | undefined;
}

interface Lane {
  gates: Gates;
  waiting: number[];
  /** In the order of their numbers. */
  inFlight: Map<number, Promise<void>>;
  /** All of them. */
  ids: Set<number>;
  onChange(): void;
}

const LOOK_MS = 1_000;
/** The number of a lane's first job at its gates. */
const FIRST = 1;

export function createDeferredJobs(
  { jobs, quotas, jobWindow, cancellationOf }: DeferredDependencies,
  { step, deferred, createGates, run, onError }: Term,
) {
  /** By audience; null: of the marketplace. */
  const lanes = new Map<JobDocument['audience'], Lane>();

  function join(job: DeferredJob): void {
    const { _id, audience } = job;
    quotas.hold(job);
    const known = lanes.get(audience);
    const lane: Lane = known ?? {
      gates: createGates(FIRST),
      waiting: [],
      inFlight: new Map(),
      ids: new Set(),
      onChange: () => {},
    };
    lane.waiting.push(_id);
    lane.ids.add(_id);
    lane.onChange();
    if (known) return;
    lanes.set(audience, lane);
    runLane(audience, lane).catch((error) => {
      if (!step.signal.aborted) onError(error);
    });
  }

  async function runLane(audience: JobDocument['audience'], lane: Lane): Promise<void> {
    const hasEarlier = () => jobs.hasEarlierInSpace({ _id: lane.waiting[0]!, audience });
    while (await step.read('look for earlier jobs', hasEarlier)) await step.pause(LOOK_MS);
    for (let number = FIRST; lane.waiting.length + lane.inFlight.size > 0; ) {
      const next = lane.waiting[0];
      if (next === undefined || lane.inFlight.size >= jobWindow) {
        await new Promise<void>((resolve) => {
          lane.onChange = resolve;
        });
        continue;
      }
      const job = await untilItGoesOn(next);
      lane.waiting.shift();
      start(lane, job, number++);
    }
    lanes.delete(audience);
  }

  /** The job, once it is no longer stopped. */
  async function untilItGoesOn(id: number): Promise<JobDocument> {
    for (;;) {
      const job = (await step.read('read the job', () => jobs.find(id)))!;
      if (!job.stoppedAt) return job;
      const cancelled = await step.read('look for a cancellation', () => cancellationOf(job));
      if (cancelled && !job.dropRequested)
        await step('attempt', () => jobs.drop(job, nothing((job.attempt ?? 0) + 1, [cancelled])));
      else await step.pause(LOOK_MS);
    }
  }

  function start(lane: Lane, job: JobDocument, number: number): void {
    const { gates, inFlight } = lane;
    const earlierLoad = job.audience === null ? undefined : [...inFlight.values()].at(-1);
    const ended = run(job, { gates, number, earlierLoad }).then(() => {
      inFlight.delete(job._id);
      lane.onChange();
    });
    inFlight.set(job._id, ended);
  }

  for (const job of deferred) join(job);

  return {
    /** True if the job belongs to a lane: later jobs of other spaces do not wait for it. */
    async take(job: JobDocument): Promise<boolean> {
      const lane = lanes.get(job.audience);
      if (!lane || job.phase === 'ended' || job.phase === 'withdrawn') return false;
      if (lane.ids.has(job._id)) return true;
      await step('defer', () => jobs.defer(job._id));
      join({ ...job, deferred: true });
      return true;
    },

    /** Whether the job is the first of its lane. */
    isFirst: (job: number): boolean =>
      [...lanes.values()].some(({ inFlight }) => inFlight.keys().next().value === job),
  };
}
