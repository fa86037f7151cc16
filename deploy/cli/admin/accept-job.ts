/** Queues jobs from a command, like the API. Loads the Kafka client, which few commands need. */
import { type AcceptQueue, createAcceptQueue } from '../../../api/jobs/accept-queue.ts';
import type { JobRequest } from '../../../pipeline/accept/new-job.ts';
import { createPublisher } from '../../../pipeline/kafka/publish.ts';
import { withDeadline } from '../../../pipeline/runtime/deadline.ts';
import { serverDown } from '../../../pipeline/runtime/errors.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import type { AdminContext } from './runner.ts';

const LIMIT_MS = 30_000;

/** The queue works after `connect`. */
export async function withAcceptQueue<T>(
  { operatorConfig, ...stores }: AdminContext,
  work: (queue: AcceptQueue, connect: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const config = operatorConfig();
  const log = createLogger({ logLevel: 'silent' }, 'admin');
  const publisher = createPublisher(config, log, { sendTimeoutMs: LIMIT_MS });
  const queue = createAcceptQueue({ ...stores, publisher, log, limitMs: LIMIT_MS });
  const connect = () =>
    withDeadline(LIMIT_MS, publisher.connect()).catch((error) => {
      throw serverDown('Kafka', config.kafkaBrokers.join(','), error);
    });
  try {
    return await work(queue, connect);
  } finally {
    await queue.drain();
    await publisher.close();
  }
}

export const acceptJob = (context: AdminContext, request: JobRequest): Promise<JobDocument> =>
  withAcceptQueue(context, async (queue, connect) => {
    await connect();
    return (await queue.accept(request)).job;
  });
