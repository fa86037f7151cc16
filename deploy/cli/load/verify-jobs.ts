/** Compares every count of the service with the generated data. */

import type { ApiClient } from '../../../api/client/client.ts';
import type { Progress } from '../../../api/client/types.ts';
import { inParallel } from '../../../pipeline/runtime/in-parallel.ts';
import type { JobTimes, SubmittedJob, VerifiedJob } from './jobs.ts';
import type { Layout } from './layouts.ts';

const AT_ONCE = 2;

function timesOf({ created_at, started_at, loaded_at, ended_at }: Progress) {
  const created = Date.parse(created_at);
  const ended = ended_at === null ? created : Date.parse(ended_at);
  // A job cancelled while waiting has neither of the two.
  const started = started_at === null ? ended : Date.parse(started_at);
  const loaded = loaded_at === null ? ended : Date.parse(loaded_at);
  const seconds = (from: number, to: number) => Math.max(0, to - from) / 1_000;
  const times: JobTimes = {
    waiting: seconds(created, started),
    loading: seconds(started, loaded),
    merging: seconds(loaded, ended),
    total: seconds(created, ended),
  };
  return { createdAt: created, endedAt: ended, times };
}

export async function verifyJobs(
  reading: ApiClient,
  layout: Layout,
  jobs: readonly SubmittedJob[],
  onJob: (verified: number) => void,
): Promise<VerifiedJob[]> {
  const verified: VerifiedJob[] = [];
  let done = 0;
  await inParallel(jobs, AT_ONCE, async (job, index) => {
    const { data: progress } = await reading.get<Progress>(layout.progressPath(job.id));
    const { checks, errors } = await layout.outcome(job.id, job.expected, progress);
    verified[index] = { ...job, status: progress.status, ...timesOf(progress), checks, errors };
    onJob(++done);
  });
  return verified;
}
