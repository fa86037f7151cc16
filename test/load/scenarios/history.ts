/** Small jobs on a new service, and on one with a long history of ended jobs. */
import { atLeast, atMost, type Benchmark } from '../table.ts';
import { type JobsResult, measureJobs } from './many-jobs.ts';

const IDLE_JOBS = 30;

export const history: Benchmark = {
  name: 'history',
  async measure({ runOn, sized, seed }) {
    const withHistory = (ended: number): Promise<JobsResult> =>
      runOn('history', (bench) =>
        measureJobs(bench, {
          jobs: sized(1_000),
          idleJobs: IDLE_JOBS,
          history: ended,
          rows: 1_000,
          duplicates: 0.2,
          layout: 'a',
          keys: 20,
          gzip: false,
          seed,
        }),
      );
    const none = await withHistory(0);
    const long = await withHistory(sized(100_000));
    const rate = ({ together }: JobsResult) => together!.jobsPerSecond;
    const idle = ({ idleLatency }: JobsResult) => idleLatency!.p50;
    const compared = (what: string, say: (result: JobsResult) => string) => ({
      what: `${what}: no history; 100,000 ended jobs`,
      small: say(none),
      full: say(long),
    });
    return {
      rows: [
        atLeast(
          compared('1,000 jobs of 1,000 rows', (result) => `${rate(result).toFixed(0)} jobs/s`),
          rate(long),
          120,
          'jobs/s',
        ),
        atMost(
          compared('one job on an idle service, p50', (result) => `${idle(result).toFixed(0)} ms`),
          idle(long),
          150,
          'ms',
        ),
      ],
      checks: [...none.checks, ...long.checks],
      details: { none, long },
    };
  },
};
