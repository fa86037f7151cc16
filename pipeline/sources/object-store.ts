/** Storage that speaks S3, with one set of credentials. Answers that will not change are StoreFailures (store-errors.ts). */
import { lookup } from 'node:dns/promises';
import type { Readable } from 'node:stream';
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { plainEtag } from './etag.ts';
import { type ReadOptions, readObject } from './read-object.ts';
import { statusOf, storeFailure, toStoreError } from './store-errors.ts';

export { StoreFailure, type StoreFailureCode, StoreUnavailable } from './store-errors.ts';

export interface ListedObject {
  key: string;
  /** Without quotes. */
  etag: string;
  size: number;
}

export interface ObjectStore {
  /** Null if there is no such object (or no such bucket, which only `list` can tell). */
  head(bucket: string, key: string): Promise<ListedObject | null>;
  /** All objects whose key begins so, a page at a time, in the order of their keys. Markers of folders are left out. */
  list(bucket: string, prefix: string): AsyncGenerator<ListedObject[], void, undefined>;
  /** The bytes of the object as it was listed, from `from` to its end. */
  open(bucket: string, key: string, options: ReadOptions): AsyncGenerator<Buffer, void, undefined>;
  close(): void;
}

export interface ObjectStoreOptions {
  /** '' is AWS. */
  endpoint: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  /** How long to wait for a connection, for an answer to begin, and for each next byte of it. */
  idleMs: number;
}

const REQUEST_ATTEMPTS = 3;

export function createObjectStore({
  endpoint,
  region,
  credentials,
  idleMs,
}: ObjectStoreOptions): ObjectStore {
  const { accessKeyId, secretAccessKey } = credentials;
  const client = new S3Client({
    region,
    credentials: { accessKeyId, secretAccessKey },
    ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
    maxAttempts: REQUEST_ATTEMPTS,
    requestHandler: { connectionTimeout: idleMs, requestTimeout: idleMs, throwOnRequestTimeout: true },
    // Checks that the storage does not ask for cost a pass over the bytes; a wrong byte shows in rows and counts.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });

  const explained = async (error: unknown, bucket: string, key: string): Promise<Error> => {
    const problem = toStoreError(error, bucket, key);
    if (endpoint !== '' || (error as { code?: unknown }).code !== 'ENOTFOUND') return problem;
    // A region that does not exist has no host, which would look like an outage for ever.
    const awsIsThere = await lookup('s3.amazonaws.com').then(
      () => true,
      () => false,
    );
    return awsIsThere ? storeFailure('wrong_region', bucket, key, `no region ${region}`) : problem;
  };

  return {
    async head(bucket, key) {
      try {
        const found = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
        return { key, etag: plainEtag(found.ETag), size: found.ContentLength ?? 0 };
      } catch (error) {
        const status = statusOf(error);
        if (status === 404) return null;
        if (status === undefined || status >= 500) throw await explained(error, bucket, key);
        // The answer to a HEAD has no body, so it does not say why; that to a GET does.
        const probe = new GetObjectCommand({ Bucket: bucket, Key: key, Range: 'bytes=0-0' });
        const reason = await client.send(probe).then(
          ({ Body }) => {
            (Body as Readable).destroy();
            return error;
          },
          (answer: unknown) => answer,
        );
        throw await explained(reason, bucket, key);
      }
    },

    async *list(bucket, prefix) {
      let after: string | undefined;
      do {
        const command = new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          ContinuationToken: after,
        });
        const page = await client.send(command).catch(async (error: unknown) => {
          throw await explained(error, bucket, prefix);
        });
        yield (page.Contents ?? [])
          .map(({ Key = '', ETag, Size = 0 }) => ({ key: Key, etag: plainEtag(ETag), size: Size }))
          .filter(({ key, size }) => !(key.endsWith('/') && size === 0));
        after = page.IsTruncated ? page.NextContinuationToken : undefined;
      } while (after);
    },

    open: (bucket, key, options) => readObject(client, bucket, key, { ...options, idleMs }),

    close: () => client.destroy(),
  };
}
