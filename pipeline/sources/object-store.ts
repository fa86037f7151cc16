/**
 * S3 storage with one set of credentials. Permanent errors are StoreFailures (store-errors.ts); others are retried as long as patience.ts
 * allows.
 */
import { lookup } from 'node:dns/promises';
import type { Readable } from 'node:stream';
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { type Patience, persist } from './patience.ts';
import { answerOf, plainEtag, type ReadOptions, readObject } from './read-object.ts';
import type { StorageClient } from './storage-client.ts';
import { type StoreFailure, StoreUnavailable, statusOf, storeFailure, toStoreError } from './store-errors.ts';

export { StoreFailure, type StoreFailureCode, StoreUnavailable } from './store-errors.ts';

export interface ListedObject {
  key: string;
  /** Without quotes. */
  etag: string;
  size: number;
}

export interface ObjectPage {
  objects: ListedObject[];
  /** The last key of the page, data or not: the next page starts after it. */
  lastKey: string;
  isLast: boolean;
}

export interface ObjectStore {
  /** Null if there is no such object (or no such bucket, which only `list` can tell). */
  head(bucket: string, key: string, signal?: AbortSignal): Promise<ListedObject | null>;
  /** All objects with data under a prefix, page by page in key order, starting after `after`, if given. */
  list(
    bucket: string,
    prefix: string,
    options?: { after?: string | undefined; signal?: AbortSignal },
  ): AsyncGenerator<ObjectPage, void, undefined>;
  /** The bytes of the object as it was listed, from `from` to its end. */
  open(bucket: string, key: string, options: ReadOptions): AsyncGenerator<Buffer, void, undefined>;
}

/** Why a request failed. */
async function explained(
  { endpoint, region }: StorageClient,
  error: unknown,
  bucket: string,
  key: string,
): Promise<StoreFailure | StoreUnavailable> {
  const problem = toStoreError(error, bucket, key);
  if (endpoint !== '' || (error as { code?: unknown }).code !== 'ENOTFOUND') return problem;
  // An unknown region has no DNS entry, which would look like an endless outage.
  const awsIsThere = await lookup('s3.amazonaws.com').then(
    () => true,
    () => false,
  );
  return awsIsThere ? storeFailure('wrong_region', bucket, key, `no region ${region}`) : problem;
}

const notAStorage = () => new StoreUnavailable('The response is not from an object storage.');

/** One raw page of a listing. */
export async function listPage(
  client: StorageClient,
  bucket: string,
  { prefix = '', after, max }: { prefix?: string; after?: string | undefined; max?: number | undefined },
  signal?: AbortSignal,
): Promise<{ objects: ListedObject[]; isLast: boolean }> {
  // Continues by key, not by continuation token: a token may expire, and a new dispatcher does not have it.
  const command = new ListObjectsV2Command({
    Bucket: bucket,
    Prefix: prefix,
    StartAfter: after,
    MaxKeys: max,
  });
  try {
    const page = await client.ask((s3, abort) => s3.send(command, abort), signal);
    if (page.Name === undefined && page.KeyCount === undefined) throw notAStorage();
    const objects = (page.Contents ?? []).map(({ Key = '', ETag, Size = 0 }) => ({
      key: Key,
      etag: plainEtag(ETag),
      size: Size,
    }));
    return { objects, isLast: !page.IsTruncated || objects.length === 0 };
  } catch (error) {
    throw await explained(client, error, bucket, prefix);
  }
}

async function headOnce(
  client: StorageClient,
  bucket: string,
  key: string,
  signal?: AbortSignal,
): Promise<ListedObject | null> {
  try {
    const found = await client.ask(async (s3, abort) => {
      const response = await client.direct({ method: 'HEAD', bucket, key }, abort);
      if (response) return answerOf(response);
      return s3.send(new HeadObjectCommand({ Bucket: bucket, Key: key }), abort);
    }, signal);
    if (!found.ETag) throw notAStorage();
    return { key, etag: plainEtag(found.ETag), size: found.ContentLength ?? 0 };
  } catch (error) {
    const status = statusOf(error);
    if (status === 404) return null;
    if (status === undefined || status >= 500) throw await explained(client, error, bucket, key);
    // The response to a HEAD has no body and hence no reason; a GET has one.
    const probe = new GetObjectCommand({ Bucket: bucket, Key: key, Range: 'bytes=0-0' });
    const reason = await client
      .ask((s3, abort) => s3.send(probe, abort), signal)
      .then(
        ({ Body }) => {
          (Body as Readable).destroy();
          return error;
        },
        (answer: unknown) => answer,
      );
    throw await explained(client, reason, bucket, key);
  }
}

/** Excludes folder markers and files that programs leave next to data (`_SUCCESS`, `.part-0.crc`). */
function isData({ key, size }: ListedObject): boolean {
  if (key.endsWith('/') && size === 0) return false;
  return !/^[_.]/.test(key.slice(key.lastIndexOf('/') + 1));
}

export function createObjectStore(
  client: StorageClient,
  patience: Patience,
  { listPage: max }: { listPage?: number } = {},
): ObjectStore {
  return {
    head: (bucket, key, signal) =>
      persist(patience.wait(bucket, key, signal), () => headOnce(client, bucket, key, signal)),

    /** Prefetches the next page. */
    async *list(bucket, prefix, { after, signal } = {}) {
      const ask = (from: string | undefined) => {
        const wait = patience.wait(bucket, prefix, signal);
        const page = persist(wait, () => listPage(client, bucket, { prefix, after: from, max }, signal));
        // Reported only if the page is awaited.
        page.catch(() => {});
        return page;
      };
      let next = ask(after);
      for (let lastKey = after ?? '', isLast = false; !isLast; ) {
        const page = await next;
        lastKey = page.objects.at(-1)?.key ?? lastKey;
        isLast = page.isLast;
        if (!isLast) next = ask(lastKey);
        yield { objects: page.objects.filter(isData), lastKey, isLast };
      }
    },

    open: (bucket, key, options) => readObject(client, patience, bucket, key, options),
  };
}
