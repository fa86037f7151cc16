/**
 * The jobs that messages in Kafka name. A job is stored before it is published, so Kafka never names one that MongoDB does not know,
 * unless MongoDB was restored from an older copy. Then numbers would be given out twice, and what is left in the topics of the first job
 * with a number would be taken for the second's.
 */
import type { OperatorConfig } from '../../schemas/config.ts';
import type { AcceptedJob } from '../../schemas/topics.ts';
import { createRetry, isTransient } from '../engine/retry.ts';
import { readTopic, readTopics } from '../kafka/read-topic.ts';
import { StartRefused } from '../runtime/errors.ts';
import type { Logger } from '../runtime/log.ts';
import type { JobStore } from '../stores/jobs/jobs.ts';
import { decode, MalformedMessage } from '../wire/codec.ts';

/** The newest job is among them: jobs are published, and end, in their order. */
const NEWEST = 1_000n;

/** The key of a message in `jobs` and `status` is the job's number. */
const numberIn = (key: Buffer | null) => (/^\d{1,15}$/.test(String(key)) ? Number(key) : 0);

/** `jobs` may be empty after some quiet days; `status` keeps its messages for as long as jobs are kept. */
async function highestNumber(config: OperatorConfig, log: Logger): Promise<number> {
  let highest = 0;
  const visit = ({ key }: { key: Buffer | null }) => {
    highest = Math.max(highest, numberIn(key));
  };
  await readTopics(config, log, ['jobs', 'status'], visit, { from: { last: NEWEST } });
  return highest;
}

/** Those behind a number that are still in `jobs`, and the highest number of all. */
export async function readJobsBehind(known: number, config: OperatorConfig, log: Logger) {
  const jobs = new Map<number, AcceptedJob>();
  let highest = await highestNumber(config, log);
  await readTopic(config, log, 'jobs', ({ value }) => {
    const accepted = tryDecode(value);
    if (!accepted || accepted.job <= known) return;
    jobs.set(accepted.job, accepted);
    highest = Math.max(highest, accepted.job);
  });
  return { jobs, highest };
}

function tryDecode(value: Buffer | null): AcceptedJob | undefined {
  try {
    return decode(value, ['AcceptedJob']).value as AcceptedJob;
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}

/** A member that has just become primary may take some seconds to show all that is stored. */
const untilSeen = createRetry(undefined, {
  when: (error) => error instanceof StartRefused || isTransient(error),
  maxTries: 10,
  firstMs: 100,
});

/** For a process that starts. */
export async function requireKnownJobs(
  config: OperatorConfig,
  log: Logger,
  jobs: Pick<JobStore, 'highestNumber'>,
): Promise<void> {
  const inKafka = await highestNumber(config, log).catch((error: unknown) => {
    if (!(error instanceof StartRefused)) throw error;
    log.warn(`cannot see whether MongoDB knows all jobs in Kafka: ${error.message}`);
    return 0;
  });
  await untilSeen('compare the jobs of Kafka and MongoDB', async () => {
    const known = await jobs.highestNumber();
    if (known < inKafka)
      throw new StartRefused(
        `MongoDB (HEADRACE_MONGO_DATABASE) knows jobs up to ${known}, Kafka (HEADRACE_TOPIC_PREFIX) up to ${inKafka}: if MongoDB was ` +
          'restored from a copy, stop all processes and run: headrace admin restored',
      );
  });
}
