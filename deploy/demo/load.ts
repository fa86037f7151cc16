/** Uploads the samples with the partner's own credentials, queues their loads, and shows the progress. */
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { poll } from '../local/wait.ts';
import type { Answer, Client } from './client.ts';
import type { DemoPartner } from './provision.ts';
import type { Sample } from './samples.ts';
import type { Screen } from './screen.ts';

const words = ['pending', 'running'];
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
  queue(): Promise<Answer>;
}

const counts = ({ total_rows, unique_devices }: Answer['body']) =>
  `${total_rows} rows, ${unique_devices} devices`;

/** Follows the record at the answer's location until the load has ended. False if it was refused or has failed. */
export async function queueAndFollow({ title, client, screen, signal, queue }: Load): Promise<boolean> {
  const { status, body, location } = await queue();
  if (location === undefined) {
    screen.failed(`${title}: refused with ${status} ${body.detail ?? ''}`);
    return false;
  }
  const since = Date.now();
  const seconds = () => ((Date.now() - since) / 1000).toFixed(1);
  const ended = await poll(
    async () => {
      const record = (await client.get(location)).body;
      if (Number(record.status) >= 2) return record;
      screen.progress(`${title}: ${words[Number(record.status)]}, ${counts(record)}`);
      return undefined;
    },
    { deadlineMs: loadDeadlineMs, everyMs: 100, signal },
  );
  if (ended?.status === 2) screen.done(`${title}: done in ${seconds()} s, ${counts(ended)}`);
  else if (ended) screen.failed(`${title}: failed, ${JSON.stringify(ended.errors)}`);
  else screen.failed(`${title}: not done after ${loadDeadlineMs / 1000} s; see the logs`);
  return ended?.status === 2;
}
