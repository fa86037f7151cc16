/**
 * Reconciles Kafka and MongoDB after a restore. MongoDB wins: messages of jobs it does not know are skipped, and its unfinished jobs
 * run again, since dispatch needs no message to find them.
 *
 * Skip the messages first: a process may start as soon as MongoDB knows the numbers.
 */

import { readJobsBehind } from '../../pipeline/accept/jobs-in-kafka.ts';
import { numbered } from '../../pipeline/accept/new-job.ts';
import { skipMessages } from '../../pipeline/kafka/skip-messages.ts';
import { CommandFailed } from '../../pipeline/runtime/errors.ts';
import { inGroups, within } from '../../pipeline/runtime/in-groups.ts';
import type { Logger } from '../../pipeline/runtime/log.ts';
import type { JobStore } from '../../pipeline/stores/jobs/jobs.ts';
import type { VoteStore } from '../../pipeline/stores/votes.ts';
import type { OperatorConfig } from '../../schemas/config.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import type { AcceptedJob } from '../../schemas/topics.ts';

interface Dependencies {
  config: OperatorConfig;
  log: Logger;
  jobs: Pick<JobStore, 'extent' | 'missing' | 'insertNew'>;
  votes: Pick<VoteStore, 'forgetBefore'>;
}

export interface LostJob {
  job: number;
  /** Absent if its message has expired in Kafka. */
  accepted: AcceptedJob | undefined;
}

/** A larger gap means a foreign message, not lost jobs. */
const MAX_LOST = 10_000_000;
const AT_ONCE = 1_000;

/** Takes the number, invisible to partners. */
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

/** Returns the lost jobs: known to Kafka, unknown to MongoDB. */
export async function settleAfterRestore(deps: Dependencies): Promise<LostJob[]> {
  const { config, log, jobs } = deps;
  const { first } = await jobs.extent();
  const { jobs: known, highest } = await readJobsBehind(first - 1, config, log);
  if (highest - first > MAX_LOST)
    throw new CommandFailed(
      'too_many_lost',
      `nothing was done: MongoDB has no unfinished job before ${first}, and a message names job ${highest}`,
    );
  await skipMessages(config, log);
  // The votes refer to devices that are lost.
  await deps.votes.forgetBefore(Number.MAX_SAFE_INTEGER);
  const lost = (await jobs.missing(first, highest)).map((job) => ({ job, accepted: known.get(job) }));
  for (const some of inGroups(lost, within({ count: AT_ONCE }))) await jobs.insertNew(some.map(withdrawn));
  return lost;
}
