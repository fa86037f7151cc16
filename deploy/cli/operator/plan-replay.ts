/**
 * `headrace replay`: publishes messages again. Redelivery is idempotent (the ledger counts a batch once, a set holds a device once): an
 * ended job stays as it is, and a job that waits for a lost message continues.
 */
import type { Command } from 'commander';
import { count, plural } from '../../../api/client/format.ts';
import { createPublisher, type OutgoingMessage } from '../../../pipeline/kafka/publish.ts';
import { type ReadMessage, type ReadOptions, readTopics } from '../../../pipeline/kafka/read-topic.ts';
import { topicName } from '../../../pipeline/kafka/topics.ts';
import { CommandFailed } from '../../../pipeline/runtime/errors.ts';
import { printable, printJson, printLines } from '../../../pipeline/runtime/terminal.ts';
import { MalformedMessage } from '../../../pipeline/wire/codec.ts';
import type { OperatorConfig } from '../../../schemas/config.ts';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import { type TopicKey, topics } from '../../../schemas/topics.ts';
import { confirmFirst } from '../confirm.ts';
import { statusNames } from '../parse-options.ts';
import { visitLetters } from './dead-letters.ts';
import { tryDecode } from './describe-message.ts';
import { openJobs } from './look-up-jobs.ts';
import { quietLogger } from './read-messages.ts';

const MAX_BYTES = 2_000_000;
const MAX_MESSAGES = 1_000;

interface Republisher {
  add(topic: TopicKey, message: OutgoingMessage): Promise<void>;
  /** Resolves when the brokers have everything. */
  flush(): Promise<void>;
}

/** Republishes messages to their partitions in bounded batches. */
async function publishAgain(
  config: OperatorConfig,
  work: (republisher: Republisher) => Promise<void>,
): Promise<number> {
  const publisher = createPublisher(config, log);
  await publisher.connect();
  const waiting = new Map<TopicKey, OutgoingMessage[]>();
  let [bytes, held, sent] = [0, 0, 0];

  async function flush(): Promise<void> {
    for (const [topic, messages] of waiting) await publisher.send(topic, messages);
    waiting.clear();
    sent += held;
    [bytes, held] = [0, 0];
  }

  try {
    await work({
      flush,
      async add(topic, message) {
        const others = waiting.get(topic);
        if (others) others.push(message);
        else waiting.set(topic, [message]);
        bytes += message.value.length;
        held++;
        if (bytes >= MAX_BYTES || held >= MAX_MESSAGES) await flush();
      },
    });
    await flush();
  } finally {
    await publisher.close();
  }
  return sent;
}

/** What to publish, counted in a first pass. */
interface Plan {
  title: string;
  counts: Map<TopicKey, number>;
  /** Shown below the counts. */
  remarks: string[];
  run(): Promise<number>;
}

const log = quietLogger('replay');
const flow = (Object.keys(topics) as TopicKey[]).filter((topic) => topics[topic].reader !== null);
const addTo = (counts: Map<TopicKey, number>, topic: TopicKey) =>
  counts.set(topic, (counts.get(topic) ?? 0) + 1);

/** Reads the messages twice: to count, then to publish. */
async function planOf(
  config: OperatorConfig,
  from: { title: string; remarks: string[]; topics: readonly TopicKey[]; options?: ReadOptions },
  isWanted: (message: ReadMessage) => boolean,
): Promise<Plan> {
  const counts = new Map<TopicKey, number>();
  const read = (visit: (message: ReadMessage & { value: Buffer }) => Promise<void> | void) =>
    readTopics(
      config,
      log,
      from.topics,
      (message) => {
        const { value } = message;
        return value !== null && isWanted(message) ? visit({ ...message, value }) : undefined;
      },
      from.options,
    );
  await read(({ topic }) => void addTo(counts, topic));
  const run = () =>
    publishAgain(config, (again) =>
      read(({ topic, partition, key, value }) =>
        again.add(topic, { partition, key: key?.toString() ?? '', value }),
      ),
    );
  return { title: from.title, remarks: from.remarks, counts, run };
}

export const planTopic = (config: OperatorConfig, topic: TopicKey): Promise<Plan> =>
  planOf(
    config,
    { title: `all messages of ${topicName(config, topic)}`, remarks: [], topics: [topic] },
    () => true,
  );

/** Allows for clock skew and for messages written after the job ended. */
const MARGIN_MS = 3_600_000;

const timesOf = ({ createdAt, updatedAt, phase }: JobDocument): ReadOptions => ({
  from: { time: createdAt.getTime() - MARGIN_MS },
  ...(phase === 'ended' ? { until: { time: updatedAt.getTime() + MARGIN_MS } } : {}),
});

export async function planJob(config: OperatorConfig, number: number): Promise<Plan> {
  const jobs = await openJobs(config);
  const job = await jobs.find(number).finally(jobs.close);
  if (!job) throw new CommandFailed('unknown_job', `job ${number} does not exist`);
  const remark =
    job.phase === 'ended'
      ? `the job has ended (${statusNames[job.status]}, ${plural(job.rows, 'row')}, ${plural(job.uniqueDevices, 'device')}): its counts and device sets do not change`
      : `the job is ${job.phase}: it continues with the lost messages; nothing is counted twice`;
  const isOfJob = ({ topic, value }: ReadMessage) => {
    const message = tryDecode(topic, value);
    return !(message instanceof MalformedMessage) && 'job' in message.value && message.value.job === number;
  };
  const title = `the messages of job ${number} (${job.kind}, partner ${job.partner})`;
  return planOf(config, { title, remarks: [remark], topics: flow, options: timesOf(job) }, isOfJob);
}

const MAX_REMARKS = 20;

export async function planDeadLetters(config: OperatorConfig): Promise<Plan> {
  const counts = new Map<TopicKey, number>();
  const remarks: string[] = [];
  let left = 0;
  await visitLetters(config, log, ({ origin, outgoing }) => {
    if (typeof outgoing !== 'string') addTo(counts, outgoing.topic);
    else if (++left <= MAX_REMARKS) remarks.push(`stays: ${origin}: ${printable(outgoing)}`);
  });
  if (left > MAX_REMARKS) remarks.push(`stays: ${count(left - MAX_REMARKS)} more`);
  const run = () =>
    publishAgain(config, async (again) => {
      const putBack = await visitLetters(config, log, async ({ outgoing }) => {
        if (typeof outgoing !== 'string') await again.add(outgoing.topic, outgoing.message);
      });
      await again.flush();
      await putBack.save();
    });
  return { title: 'dead letters that can be decoded now', counts, remarks, run };
}

const totalOf = ({ counts }: Plan) => [...counts.values()].reduce((sum, messages) => sum + messages, 0);

export interface ReplayOptions {
  yes?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

export async function replay(
  config: OperatorConfig,
  plan: Plan,
  { dryRun, json }: ReplayOptions,
  command: Command,
): Promise<void> {
  const total = totalOf(plan);
  const say = (line: string) => void (json || printLines(process.stdout, [line]));
  say(`to publish again: ${plan.title}`);
  for (const topic of flow) {
    const messages = plan.counts.get(topic);
    if (messages) say(`  ${topicName(config, topic)}  ${count(messages)}`);
  }
  for (const remark of plan.remarks) say(`  ${remark}`);
  const finish = (messages: number) => {
    const byTopic = Object.fromEntries(
      [...plan.counts].map(([topic, messages]) => [topicName(config, topic), messages]),
    );
    const result = { planned: byTopic, remarks: plan.remarks, published: messages, dry_run: dryRun ?? false };
    if (json) void printJson(process.stdout, result);
  };
  if (total === 0) say('nothing to publish');
  else if (dryRun) say(`dry run: ${plural(total, 'message')} would be published, nothing was`);
  else {
    await confirmFirst(command, `Publish ${plural(total, 'message')} again?`);
    const messages = await plan.run();
    say(`published ${plural(messages, 'message')} again`);
    return finish(messages);
  }
  finish(0);
}
