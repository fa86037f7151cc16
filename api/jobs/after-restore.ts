/**
 * Puts Kafka and MongoDB in step after one of them was restored from a copy. MongoDB decides: what it does not know is skipped in Kafka,
 * and what is unfinished in it runs again, because dispatch finds jobs and slots find missing devices without any message.
 *
 * In this order: a process starts when MongoDB knows the numbers, and must not find the messages then.
 */

import { readJobsBehind } from '../../pipeline/accept/jobs-in-kafka.ts';
import { numbered } from '../../pipeline/accept/new-job.ts';
import { skipMessages } from '../../pipeline/kafka/skip-messages.ts';
import { CommandFailed } from '../../pipeline/runtime/command-failed.ts';
import { inGroups, within } from '../../pipeline/runtime/in-groups.ts';
import type { Logger } from '../../pipeline/runtime/log.ts';
import type { CheckStore } from '../../pipeline/stores/checks.ts';
import type { NewJobStore } from '../../pipeline/stores/new-jobs.ts';
import type { OperatorConfig } from '../../schemas/config.ts';
import type { JobDocument } from '../../schemas/documents.ts';
import type { AcceptedJob } from '../../schemas/topics.ts';

interface Dependencies {
  config: OperatorConfig;
  log: Logger;
  newJobs: Pick<NewJobStore, 'missing' | 'insertNew'>;
  jobs: { firstUnfinished(): Promise<number> };
  checks: Pick<CheckStore, 'forgetBefore'>;
}

export interface LostJob {
  job: number;
  /** Absent if Kafka does not have its message any more. */
  accepted: AcceptedJob | undefined;
}

/** More are a message that somebody else has written, rather than jobs. */
const MAX_LOST = 10_000_000;
const AT_ONCE = 1_000;

/** Its number is taken, and nobody sees it. */
const withdrawn = ({ job, accepted }: LostJob): JobDocument => ({
  ...numbered(
    {
      kind: 'import',
      partner: accepted?.partner ?? '',
      filePath: accepted?.file_path ?? '',
      pathType: 0,
      keyType: 0,
      compressed: null,
    },
    job,
    0,
    new Date(),
  ),
  kind: accepted?.kind ?? 'import',
  phase: 'withdrawn',
});

/** Gives the jobs that are lost: those that Kafka knows and MongoDB does not. */
export async function settleAfterRestore(deps: Dependencies): Promise<LostJob[]> {
  const { config, log, newJobs } = deps;
  const first = await deps.jobs.firstUnfinished();
  const { jobs, highest } = await readJobsBehind(first - 1, config, log);
  if (highest - first > MAX_LOST)
    throw new CommandFailed(
      'too_many_lost',
      `nothing was done: MongoDB has no unfinished job before ${first}, and a message names job ${highest}`,
    );
  await skipMessages(config, log);
  // What sinks have said they hold is nowhere any more.
  await deps.checks.forgetBefore(Number.MAX_SAFE_INTEGER);
  const lost = (await newJobs.missing(first, highest)).map((job) => ({ job, accepted: jobs.get(job) }));
  for (const some of inGroups(lost, within({ count: AT_ONCE }))) await newJobs.insertNew(some.map(withdrawn));
  return lost;
}
