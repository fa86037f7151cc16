/** Queues a job from a command, like the API. */
import { createAcceptQueue } from '../../../api/jobs/accept-queue.ts';
import type { ApiStores } from '../../../api/stores/api-stores.ts';
import type { JobRequest } from '../../../pipeline/accept/new-job.ts';
import { createPublisher } from '../../../pipeline/kafka/publish.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import type { OperatorConfig } from '../../../schemas/config.ts';
import type { JobDocument } from '../../../schemas/job-documents.ts';

const LIMIT_MS = 30_000;

export async function acceptJob(
  stores: ApiStores,
  config: OperatorConfig,
  request: JobRequest,
): Promise<JobDocument> {
  const log = createLogger({ logLevel: 'silent' }, 'admin');
  const publisher = createPublisher(config, log, { sendTimeoutMs: LIMIT_MS });
  try {
    await publisher.connect();
    const queue = createAcceptQueue({ ...stores, publisher, log, limitMs: LIMIT_MS });
    const { job } = await queue.accept(request);
    await queue.drain();
    return job;
  } finally {
    await publisher.close();
  }
}
