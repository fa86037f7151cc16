/** Submits the prepared jobs as planned and follows them until all have ended. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../../api/client/client.ts';
import { linkedAbort } from '../../../pipeline/runtime/deadline.ts';
import type { PreparedPrefix, SubmittedJob } from './jobs.ts';
import type { Layout } from './layouts.ts';
import type { LoadPlan } from './options.ts';
import { judgeStep, type RampStep, ratesOf } from './ramp.ts';
import { submitJobs } from './submit-jobs.ts';
import { type QueueWatch, type Sample, watchQueue } from './watch-queue.ts';

export interface Measured {
  samples: readonly Sample[];
  steps: RampStep[];
}

interface MeasureOptions {
  plan: LoadPlan;
  layout: Layout;
  reading: ApiClient;
  signal: AbortSignal;
  /** Called for each queued job, so that clean-up knows it. */
  onJob(job: SubmittedJob): void;
  onSample(sample: Sample): void;
  onStep(step: RampStep): void;
}

const SAMPLE_MS = 500;
const STEP_POLL_MS = 50;

type Submit = (count: number, rate?: number) => Promise<void>;

/** Ends at the first rate that does not hold. */
async function submitRamp(
  { plan, signal, onStep }: MeasureOptions,
  watch: QueueWatch,
  submit: Submit,
  sinceLastStep: Sample[],
): Promise<RampStep[]> {
  const steps: RampStep[] = [];
  const plannedSeconds = plan.stepMs / 1_000;
  for (const rate of ratesOf(plan.ramp!)) {
    sinceLastStep.length = 0;
    const begin = watch.seconds();
    const jobs = Math.max(1, Math.round(rate * plannedSeconds));
    await submit(jobs, rate);
    const acceptedAt = watch.seconds();
    while ((sinceLastStep.at(-1)?.at ?? 0) < begin + plannedSeconds)
      await sleep(STEP_POLL_MS, undefined, { signal });
    const step = judgeStep({ rate, jobs, begin, plannedSeconds, acceptedAt, samples: sinceLastStep });
    steps.push(step);
    onStep(step);
    if (!step.isHeld) break;
  }
  return steps;
}

export async function measureLoad(
  prefixes: readonly PreparedPrefix[],
  options: MeasureOptions,
): Promise<Measured> {
  const { plan, layout, reading } = options;
  const watch = watchQueue(reading, layout);
  // If either loop ends, abort the other.
  const { controller, unlink } = linkedAbort(options.signal);
  const { signal } = controller;
  const sinceLastStep: Sample[] = [];
  let steps: RampStep[] = [];
  let isSubmitted = false;

  const submit: Submit = (count, rate) =>
    submitJobs(prefixes, {
      count,
      rate,
      signal,
      async submit(prefix) {
        const job: SubmittedJob = { ...prefix, id: await layout.submit(prefix), rate };
        options.onJob(job);
        watch.add(job);
      },
    });

  async function submitAll(): Promise<void> {
    if (plan.ramp) steps = await submitRamp({ ...options, signal }, watch, submit, sinceLastStep);
    else await submit(plan.jobs, plan.rate);
    isSubmitted = true;
  }

  async function follow(): Promise<void> {
    for (;;) {
      const wasSubmitted = isSubmitted;
      const sample = await watch.sample();
      if (plan.ramp && !wasSubmitted) sinceLastStep.push(sample);
      options.onSample(sample);
      if (wasSubmitted && watch.unfinished().length === 0) return;
      await sleep(SAMPLE_MS, undefined, { signal });
    }
  }

  const orEndBoth = (work: Promise<void>) =>
    work.catch((error) => {
      controller.abort(error);
      throw error;
    });
  try {
    const ends = await Promise.allSettled([orEndBoth(submitAll()), orEndBoth(follow())]);
    if (signal.aborted) throw signal.reason;
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  } finally {
    unlink();
  }
  return { samples: watch.samples(), steps };
}
