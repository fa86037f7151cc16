/** The report of a load test, as written to a file and printed with --json. */
import { type CountCheck, isWrong, type JobTimes, type VerifiedJob } from './jobs.ts';
import type { Measured } from './measure-load.ts';
import type { LoadPlan } from './options.ts';
import { highestHeld, type RampStep } from './ramp.ts';
import type { Sample } from './watch-queue.ts';

export const phases = ['waiting', 'loading', 'merging', 'total'] as const satisfies (keyof JobTimes)[];
type Phase = (typeof phases)[number];

type Percentiles = Record<'p50' | 'p90' | 'p99' | 'max', number>;
type WrongCount = CountCheck & { job: number };

export interface LoadReport {
  service: string;
  started_at: string;
  plan: Omit<LoadPlan, 'ramp'> & { ramp: LoadPlan['ramp'] | null };
  upload: { files: number; bytes: number; seconds: number };
  load: {
    jobs: number;
    files: number;
    rows: number;
    /** From the first accepted job to the end of the last one, by the service's clock. */
    seconds: number;
    rows_per_second: number;
    files_per_second: number;
  };
  /** Seconds. */
  latency: Record<Phase, Percentiles>;
  counts: { checked: number; wrong: WrongCount[] };
  failed_jobs: number;
  /** How often each happened. */
  errors: { code: string; message: string; count: number }[];
  ramp: {
    /** Jobs per second; null if not even the first rate held. */
    highest_rate: number | null;
    steps: readonly RampStep[];
  } | null;
  jobs: ({ id: number; path: string; status: number; rows: number; rate: number | null } & JobTimes)[];
  samples: readonly Sample[];
}

interface Ran extends Measured {
  service: string;
  startedAt: Date;
  plan: LoadPlan;
  upload: LoadReport['upload'];
  jobs: readonly VerifiedJob[];
}

/** Nearest-rank percentile. */
function percentilesOf(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

function errorsOf(jobs: readonly VerifiedJob[]): LoadReport['errors'] {
  const byCode = new Map<string, LoadReport['errors'][number]>();
  for (const { code, message } of jobs.flatMap(({ errors }) => errors)) {
    const known = byCode.get(code) ?? { code, message, count: 0 };
    byCode.set(code, { ...known, count: known.count + 1 });
  }
  return [...byCode.values()];
}

export function reportOf({ service, startedAt, plan, upload, jobs, samples, steps }: Ran): LoadReport {
  const rows = jobs.reduce((sum, { expected }) => sum + expected.rows, 0);
  const files = jobs.reduce((sum, { expected }) => sum + expected.files, 0);
  const createdAt = jobs.reduce((first, job) => Math.min(first, job.createdAt), Number.POSITIVE_INFINITY);
  const endedAt = jobs.reduce((last, job) => Math.max(last, job.endedAt), createdAt);
  const seconds = (endedAt - createdAt) / 1_000;
  const perSecond = (amount: number) => (seconds > 0 ? Math.round((10 * amount) / seconds) / 10 : 0);
  return {
    service,
    started_at: startedAt.toISOString(),
    plan: { ...plan, ramp: plan.ramp ?? null },
    upload,
    load: {
      jobs: jobs.length,
      files,
      rows,
      seconds,
      rows_per_second: perSecond(rows),
      files_per_second: perSecond(files),
    },
    latency: Object.fromEntries(
      phases.map((phase) => [phase, percentilesOf(jobs.map(({ times }) => times[phase]))]),
    ) as LoadReport['latency'],
    counts: {
      checked: jobs.reduce((sum, { checks }) => sum + checks.length, 0),
      wrong: jobs.flatMap(({ id, checks }) => checks.filter(isWrong).map((check) => ({ job: id, ...check }))),
    },
    failed_jobs: jobs.filter(({ status }) => status !== 2).length,
    errors: errorsOf(jobs),
    ramp: plan.ramp ? { highest_rate: highestHeld(steps), steps } : null,
    jobs: jobs.map(({ id, path, status, expected, rate, times }) => ({
      id,
      path,
      status,
      rows: expected.rows,
      rate: rate ?? null,
      ...times,
    })),
    samples,
  };
}
