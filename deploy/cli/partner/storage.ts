/** The partner's bucket and prefix, with an S3 client that uses its keys. */
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { ignoreOddDates } from '../../../pipeline/sources/odd-dates.ts';
import { CommandError, exitCodes, usageError } from './exit-codes.ts';
import { required, type Settings } from './settings.ts';

export interface StoragePlace {
  bucket: string;
  /** Ends in a slash, or is empty. */
  prefix: string;
}

const DEFAULT_REGION = 'us-east-1';
const CONNECT_MS = 10_000;
const IDLE_MS = 60_000;
const MAX_TRIES = 5;

export function placeOf(storageUrl: string): StoragePlace {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(storageUrl) ?? [];
  if (bucket === undefined) throw usageError(`${storageUrl} must have the form s3://<bucket>/<prefix>/`);
  return { bucket, prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/` };
}

export function connectStorage(settings: Settings): StoragePlace & { s3: S3Client } {
  const place = placeOf(required(settings, 'storage_url'));
  const endpoint = settings.storage_endpoint;
  const s3 = new S3Client({
    region: settings.storage_region ?? DEFAULT_REGION,
    credentials: {
      accessKeyId: required(settings, 'storage_access_key_id'),
      secretAccessKey: required(settings, 'storage_secret_access_key'),
    },
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    maxAttempts: MAX_TRIES,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: IDLE_MS, throwOnRequestTimeout: true },
  });
  ignoreOddDates(s3);
  return { ...place, s3 };
}

interface StorageError extends Error {
  code?: string;
  $metadata?: { httpStatusCode?: number; requestId?: string };
}

export function storageProblem(error: unknown, what: string): CommandError {
  if (error instanceof CommandError) return error;
  const { name, message, code, $metadata } = error as StorageError;
  const status = $metadata?.httpStatusCode;
  const reason = message && message !== 'UnknownError' ? message : (code ?? name);
  if (status === 401 || status === 403)
    return new CommandError(
      exitCodes.notAuthorized,
      'storage_denied',
      `${what}: the storage denied access (${name}). Check storage_url and the storage keys.`,
      { requestId: $metadata?.requestId, cause: error },
    );
  const isAnswer = status !== undefined;
  return new CommandError(
    exitCodes.failed,
    isAnswer ? 'storage_failed' : 'storage_unreachable',
    `${what}: ${isAnswer ? `${name}: ${reason}` : `the storage does not answer: ${reason}`}`,
    { requestId: $metadata?.requestId, cause: error },
  );
}

/** Fails if the keys cannot list the prefix. */
export async function checkStorage(settings: Settings, signal: AbortSignal): Promise<void> {
  const { s3, bucket, prefix } = connectStorage(settings);
  try {
    const look = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: 1 });
    await s3.send(look, { abortSignal: signal });
  } catch (error) {
    signal.throwIfAborted();
    throw storageProblem(error, 'the storage cannot be used');
  } finally {
    s3.destroy();
  }
}
