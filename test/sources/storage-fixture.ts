/** The service's storage behind a proxy that can fail: for tests of sources. */
import { randomBytes } from 'node:crypto';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';
import {
  createObjectStore,
  type ListedObject,
  type ObjectStore,
} from '../../pipeline/sources/object-store.ts';
import { createPatience } from '../../pipeline/sources/patience.ts';
import { connectStorage, type StorageOptions } from '../../pipeline/sources/storage-client.ts';
import { servers } from '../support/stack.ts';
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';

/** Where a response is expected: a slow machine may stall in the middle of one. */
const IDLE_MS = 30_000;
/** Where a response stalls or its reader does. */
export const SHORT_IDLE_MS = 6_000;
const PATIENT_MS = 120_000;
/** Where none is expected: no working request is cut off. */
export const hasty = { idleMs: 1_000, deadlineMs: 2_500 };
const log = createLogger({ logLevel: 'silent' }, 'test');

type ClosableStore = ObjectStore & { close(): void };
export function connect(
  options: StorageOptions,
  {
    deadlineMs = PATIENT_MS,
    minRate = 0,
    ...paging
  }: { listPage?: number; deadlineMs?: number; minRate?: number } = {},
): ClosableStore {
  const client = connectStorage(options);
  const patience = createPatience({ deadlineMs, minRate, log });
  return { ...createObjectStore(client, patience, paging), close: client.close };
}

export function setUpStorage() {
  const folder = `object-store-${randomBytes(6).toString('hex')}/`;
  let writer: S3Client;
  let proxy: FaultyProxy;
  let store: ClosableStore;
  let bucket: string;

  const put = async (key: string, body: Buffer | string): Promise<ListedObject> => {
    const { ETag } = await writer.send(
      new PutObjectCommand({ Bucket: bucket, Key: folder + key, Body: body }),
    );
    return { key: folder + key, etag: ETag!.replaceAll('"', ''), size: Buffer.byteLength(body) };
  };

  const read = async (
    { key, etag, size }: ListedObject,
    options: { from?: number; signal?: AbortSignal } = {},
    reader: ObjectStore = store,
  ): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    for await (const chunk of reader.open(bucket, key, { etag, size, ...options })) chunks.push(chunk);
    return Buffer.concat(chunks);
  };

  const list = async (prefix: string): Promise<ListedObject[][]> => {
    const pages: ListedObject[][] = [];
    for await (const { objects } of store.list(bucket, folder + prefix)) pages.push(objects);
    return pages;
  };

  const storeWith = (options: {
    accessKeyId?: string;
    secretAccessKey?: string;
    region?: string;
    listPage?: number;
    idleMs?: number;
    deadlineMs?: number;
    minRate?: number;
  }) => {
    const { region, accessKeyId, secretAccessKey } = { ...servers().s3, ...options };
    const credentials = { accessKeyId, secretAccessKey };
    const { idleMs = IDLE_MS, listPage, deadlineMs, minRate = 0 } = options;
    const limits = { minRate, ...(listPage ? { listPage } : {}), ...(deadlineMs ? { deadlineMs } : {}) };
    return connect({ endpoint: proxy.endpoint, region, credentials, idleMs }, limits);
  };

  beforeAll(async () => {
    const { endpoint, region, accessKeyId, secretAccessKey } = servers().s3;
    bucket = servers().s3.bucket;
    writer = new S3Client({
      endpoint,
      region,
      credentials: { accessKeyId, secretAccessKey },
      forcePathStyle: true,
    });
    proxy = await startFaultyProxy(endpoint);
  });
  afterAll(async () => {
    writer.destroy();
    await proxy.close();
  });
  beforeEach(() => {
    store = storeWith({});
    proxy.seen.length = 0;
    proxy.faults.length = 0;
    proxy.rules.clear();
  });
  afterEach(() => store.close());

  return {
    folder,
    put,
    read,
    list,
    storeWith,
    get writer() {
      return writer;
    },
    get proxy() {
      return proxy;
    },
    get store() {
      return store;
    },
    get bucket() {
      return bucket;
    },
  };
}
