/** Raises the rate step by step, to find the highest rate that the service holds. */
import type { Ramp } from './options.ts';
import type { Sample } from './watch-queue.ts';

/** As in the report. */
export interface RampStep {
  /** Jobs per second. */
  rate: number;
  jobs: number;
  /** Unfinished jobs, on average, around the middle of the step and at its end. */
  backlog_before: number;
  backlog_after: number;
  held: boolean;
}

/** A backlog that grows by more than a twentieth of the submitted jobs means that the rate is not sustained. */
const TOLERATED_SHARE = 0.05;
const TOLERATED_JOBS = 1;

export function* ratesOf({ from, to, by }: Ramp): Generator<number> {
  // Multiplied, because 0.1 added ten times is not 1.
  for (let n = 0; from + n * by <= to; n++) yield Number((from + n * by).toFixed(6));
}

const mean = (samples: readonly Sample[]) =>
  samples.reduce((sum, { queued }) => sum + queued, 0) / samples.length;

interface StepRun {
  rate: number;
  jobs: number;
  /** In seconds, like the samples. */
  begin: number;
  plannedSeconds: number;
  /** When the last job of the step was accepted. */
  acceptedAt: number;
  samples: readonly Sample[];
}

/** Compares the last quarter of the step with the one before it: the backlog of a higher rate has settled by then. */
export function judgeStep({ rate, jobs, begin, plannedSeconds, acceptedAt, samples }: StepRun): RampStep {
  const quarter = plannedSeconds / 4;
  const last = samples.filter(({ at }) => at >= begin + 3 * quarter);
  const earlier = samples.filter(({ at }) => at >= begin + 2 * quarter && at < begin + 3 * quarter);
  const after = last.length > 0 ? mean(last) : 0;
  const before = earlier.length > 0 ? mean(earlier) : after;
  const tolerated = Math.max(TOLERATED_JOBS, TOLERATED_SHARE * rate * quarter);
  // If the service accepts jobs too slowly, this rate was never offered.
  const isOffered = acceptedAt <= begin + 1.1 * plannedSeconds + 1;
  return {
    rate,
    jobs,
    backlog_before: before,
    backlog_after: after,
    held: isOffered && after - before <= tolerated,
  };
}

export const highestHeld = (steps: readonly RampStep[]): number | null =>
  steps.findLast(({ held }) => held)?.rate ?? null;
