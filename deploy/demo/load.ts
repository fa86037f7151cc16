/** Uploads the samples with the partner's own credentials, queues their loads, and shows the progress. */
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { poll } from '../local/wait.ts';
import type { Client } from './client.ts';
import type { DemoPartner } from './provision.ts';
import type { Sample } from './samples.ts';
import type { Screen } from './screen.ts';

const words = ['pending', 'running', 'done', 'failed'];
const loadDeadlineMs = 120_000;

export async function uploadSamples(
  partner: DemoPartner,
  endpoint: string,
  samples: readonly Sample[],
): Promise<void> {
  const { region, bucket, prefix, access_key_id, secret_access_key } = partner.s3;
  const client = new S3Client({
    region,
    // The current endpoint: the port may have changed since the credentials were issued.
    ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
    credentials: { accessKeyId: access_key_id, secretAccessKey: secret_access_key },
  });
  try {
    for (const { path, text } of samples) {
      await client.send(
        new PutObjectCommand({ Bucket: bucket, Key: prefix + path, Body: text, ContentType: 'text/csv' }),
      );
    }
  } finally {
    client.destroy();
  }
}

export interface Load {
  readonly title: string;
  readonly client: Client;
  readonly screen: Screen;
  readonly signal: AbortSignal;
  readonly queue: { readonly path: string; readonly body: object; readonly idField: string };
  readonly counts: (record: Record<string, unknown>) => string;
}

/** Returns the id of the load, or undefined if it was refused. */
export async function queueAndFollow({
  title,
  client,
  screen,
  signal,
  queue,
  counts,
}: Load): Promise<number | undefined> {
  const queued = await client.post(queue.path, queue.body);
  const id = queued.body[queue.idField];
  if (typeof id !== 'number') {
    screen.failed(`${title}: POST ${queue.path} failed with ${queued.status} ${queued.body.detail ?? ''}`);
    return undefined;
  }
  const since = Date.now();
  const seconds = () => ((Date.now() - since) / 1000).toFixed(1);
  const ended = await poll(
    async () => {
      const { body } = await client.get(`${queue.path}/${id}`);
      const status = Number(body.status);
      screen.progress(`${title} ${id}: ${words[status]}, ${counts(body)}`);
      return status >= 2 ? body : undefined;
    },
    { deadlineMs: loadDeadlineMs, everyMs: 100, signal },
  );
  if (ended?.status === 2) screen.done(`${title} ${id}: done in ${seconds()} s, ${counts(ended)}`);
  else if (ended) screen.failed(`${title} ${id}: failed, ${JSON.stringify(ended.errors ?? ended.file)}`);
  else screen.failed(`${title} ${id}: not done after ${loadDeadlineMs / 1000} s; see the logs`);
  return id;
}
