/** Submits the prepared jobs as planned and follows them until all have ended. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../../api/client/client.ts';
import { linkedAbort } from '../../../pipeline/runtime/deadline.ts';
import type { PreparedPrefix, SubmittedJob } from './jobs.ts';
import type { Layout } from './layouts.ts';
import type { LoadPlan } from './options.ts';
import { judgeStep, type RampStep, ratesOf } from './ramp.ts';
import { type QueueWatch, type Sample, watchQueue } from './watch-queue.ts';

/** Maximum requests in flight. */
const MAX_AT_ONCE = 16;

interface Submitting {
  count: number;
  /** Jobs per second; undefined: all at once. */
  rate?: number;
  signal: AbortSignal;
  submit(prefix: PreparedPrefix): Promise<void>;
}

/** Open-loop load: submits at the rate whether or not the service keeps up, with the prefixes round-robin. Waits for requests in flight, even after a failure. */
async function submitJobs(
  prefixes: readonly PreparedPrefix[],
  { count, rate, signal, submit }: Submitting,
): Promise<void> {
  const since = performance.now();
  const inFlight = new Set<Promise<void>>();
  let failure: { reason: unknown } | undefined;
  const begin = (prefix: PreparedPrefix) => {
    const request = submit(prefix)
      .catch((reason) => {
        failure ??= { reason };
      })
      .finally(() => inFlight.delete(request));
    inFlight.add(request);
  };
  try {
    for (let n = 0; n < count && !failure; n++) {
      if (inFlight.size >= MAX_AT_ONCE) await Promise.race(inFlight);
      const waitMs = rate === undefined ? 0 : since + (n * 1_000) / rate - performance.now();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal });
      signal.throwIfAborted();
      begin(prefixes[n % prefixes.length]!);
    }
  } finally {
    await Promise.all(inFlight);
  }
  if (failure) throw failure.reason;
}

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
    if (!step.held) break;
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
