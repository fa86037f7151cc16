/**
 * Job numbers in Kafka. A job is stored in MongoDB before it is published, so MongoDB knows every job in Kafka, unless it was restored
 * from an older backup. Then job numbers would be reused, and messages left in the topics would be mistaken for the new job's.
 */
import type { OperatorConfig } from '../../schemas/config.ts';
import type { AcceptedJob } from '../../schemas/topics.ts';
import { createRetry, isTransient } from '../engine/retry.ts';
import { readTopic, readTopics } from '../kafka/read-topic.ts';
import { StartRefused } from '../runtime/errors.ts';
import type { Logger } from '../runtime/log.ts';
import type { JobStore } from '../stores/jobs/jobs.ts';
import { decode, MalformedMessage } from '../wire/codec.ts';

/** Messages to read back. The newest job is among them, because jobs are published in order. */
const NEWEST = 1_000n;

/** Messages in `jobs` and `status` are keyed by job number. */
const numberIn = (key: Buffer | null) => (/^\d{1,15}$/.test(String(key)) ? Number(key) : 0);

/** Retention may have emptied `jobs`; `status` keeps a message as long as its job is kept. */
async function highestNumber(config: OperatorConfig, log: Logger): Promise<number> {
  let highest = 0;
  const visit = ({ key }: { key: Buffer | null }) => {
    highest = Math.max(highest, numberIn(key));
  };
  await readTopics(config, log, ['jobs', 'status'], visit, { from: { last: NEWEST } });
  return highest;
}

/** Jobs after `known` that are still in `jobs`, and the highest job number in Kafka. */
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

/** A newly elected primary may need some seconds until its majority reads are up to date. */
const untilSeen = createRetry(undefined, {
  when: (error) => error instanceof StartRefused || isTransient(error),
  maxTries: 10,
  firstMs: 100,
});

/** Checked at startup. */
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
