/** `headrace tap`: prints the messages of topics, decoded. */
import { pino } from 'pino';
import type { Place } from '../../../pipeline/kafka/offsets.ts';
import { readTopics } from '../../../pipeline/kafka/read-topic.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import { isInteractive } from '../../../pipeline/runtime/terminal.ts';
import { type Decoded, MalformedMessage } from '../../../pipeline/wire/codec.ts';
import type { OperatorConfig } from '../../../schemas/config.ts';
import type { MessageName, TopicKey } from '../../../schemas/topics.ts';
import { describeMessage, type Shown, tryDecode } from './describe-message.ts';
import { openJobs } from './look-up-jobs.ts';
import { createPrint, type Format } from './print-message.ts';

export interface TapOptions extends Shown {
  job?: number;
  partner?: string;
  type?: MessageName[];
  from?: Place;
  until?: Place;
  follow?: boolean;
  limit?: number;
  format?: Format;
}

/** Logs to standard error, because standard output is for messages. */
export const quietLogger = (name: string) => createLogger({ logLevel: 'error' }, name, pino.destination(2));

const jobOf = ({ value }: Decoded) => ('job' in value ? value.job : undefined);

export async function tap(
  config: OperatorConfig,
  topics: readonly TopicKey[],
  options: TapOptions,
): Promise<void> {
  const { job, partner, type, limit = Number.POSITIVE_INFINITY } = options;
  const output = process.stdout;
  const print = createPrint(options.format ?? (isInteractive(output) ? 'pretty' : 'json'), output);
  const jobs = partner === undefined ? undefined : await openJobs(config);
  const isFiltered = job !== undefined || partner !== undefined || type !== undefined;

  async function isWanted(message: Decoded | MalformedMessage): Promise<boolean> {
    if (message instanceof MalformedMessage) return !isFiltered;
    if (type && !type.includes(message.name)) return false;
    const its = jobOf(message);
    if (job !== undefined && its !== job) return false;
    if (!jobs) return true;
    if ('partner' in message.value) return message.value.partner === partner;
    return its !== undefined && (await jobs.partnerOf(its)) === partner;
  }

  const enough = new AbortController();
  let shown = 0;
  try {
    await readTopics(
      config,
      quietLogger('tap'),
      topics,
      async (message) => {
        const decoded = tryDecode(message.topic, message.value);
        if (!(await isWanted(decoded))) return;
        await print(describeMessage(message, decoded, options));
        if (++shown >= limit) enough.abort();
      },
      { ...options, signal: enough.signal },
    );
  } finally {
    await jobs?.close();
  }
}
