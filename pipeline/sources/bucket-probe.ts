/**
 * Probes whether the shared bucket is readable, on separate connections. If it is not, jobs do not fail but wait, the process is not ready,
 * and the log names the setting to check.
 */
import type { Config } from '../../schemas/config.ts';
import { StartRefused } from '../runtime/errors.ts';
import type { Logger } from '../runtime/log.ts';
import { serviceCredentials } from './credentials.ts';
import { listPage } from './object-store.ts';
import type { OnOddDate } from './odd-dates.ts';
import { connectStorage } from './storage-client.ts';
import type { StoreFailure, StoreUnavailable } from './store-errors.ts';

interface BucketProbe {
  isReadable(): Promise<boolean>;
  /** Refuses to start if the bucket does not exist. */
  requireBucket(): Promise<void>;
  close(): void;
}

/** Upper limit, even if bodies may pause for longer: the response to a probe is short. */
const MAX_IDLE_MS = 5_000;
const MAX_SHOWN = 200;

const settings: Record<string, string> = {
  bad_credentials:
    'HEADRACE_S3_ACCESS_KEY_ID and HEADRACE_S3_SECRET_ACCESS_KEY, or the credentials that the AWS SDK finds without them',
  access_denied: 'HEADRACE_S3_ACCESS_KEY_ID (what it may do) and HEADRACE_S3_BUCKET',
  no_such_bucket: 'HEADRACE_S3_BUCKET',
  missing: 'HEADRACE_S3_BUCKET',
  wrong_region: 'HEADRACE_S3_REGION',
};

/** Which setting to look at when the bucket cannot be read. */
export const settingOf = (code: string): string => settings[code] ?? 'HEADRACE_S3_ENDPOINT';

export type BucketAccess = ReturnType<typeof openBucket>;

export function openBucket(config: Config, onOddDate?: OnOddDate) {
  const client = connectStorage({
    endpoint: config.s3Endpoint,
    region: config.s3Region,
    credentials: serviceCredentials(config),
    idleMs: Math.min(MAX_IDLE_MS, config.s3IdleMs),
    ...(onOddDate ? { onOddDate } : {}),
  });
  const bucket = config.s3Bucket;
  return { client, bucket, listFirst: async () => (await listPage(client, bucket, { max: 1 })).objects };
}

export function createBucketProbe(config: Config, log: Logger): BucketProbe {
  const { client, listFirst } = openBucket(config, (header, value) =>
    log.warn(
      { header, value: value.slice(0, MAX_SHOWN) },
      `ignoring a ${header} header that is no date, sent by the storage: check whether a proxy adds a second one`,
    ),
  );
  let lastCode: string | null = null;

  async function problem(): Promise<StoreFailure | StoreUnavailable | null> {
    const found = await listFirst().then(
      () => null,
      (error: StoreFailure | StoreUnavailable) => error,
    );
    const code = found?.code ?? null;
    if (code !== lastCode && found)
      log.error(
        { bucket: config.s3Bucket, code, reason: found.message },
        `the shared bucket cannot be read, jobs wait: check ${settingOf(found.code)}`,
      );
    if (code !== lastCode && !found) log.info({ bucket: config.s3Bucket }, 'the shared bucket can be read');
    lastCode = code;
    return found;
  }

  return {
    isReadable: async () => (await problem()) === null,
    async requireBucket() {
      if ((await problem())?.code === 'no_such_bucket')
        throw new StartRefused(
          `HEADRACE_S3_BUCKET: bucket ${config.s3Bucket} does not exist; create it first`,
        );
    },
    close: client.close,
  };
}
