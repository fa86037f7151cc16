import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';
import {
  createObjectStore,
  type ListedObject,
  type ObjectStore,
  StoreFailure,
} from '../../pipeline/sources/object-store.ts';
import { createPatience } from '../../pipeline/sources/patience.ts';
import { connectStorage, type StorageOptions } from '../../pipeline/sources/storage-client.ts';
import { servers } from '../support/stack.ts';
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';

const IDLE_MS = 1_000;
const DEADLINE_MS = 2_500;
const log = createLogger({ logLevel: 'silent' }, 'test');
const folder = `object-store-${randomBytes(6).toString('hex')}/`;
let writer: S3Client;
let proxy: FaultyProxy;
let store: ClosableStore;
let bucket: string;

const put = async (key: string, body: Buffer | string): Promise<ListedObject> => {
  const { ETag } = await writer.send(new PutObjectCommand({ Bucket: bucket, Key: folder + key, Body: body }));
  return { key: folder + key, etag: ETag!.replaceAll('"', ''), size: Buffer.byteLength(body) };
};

const read = async (
  { key, etag, size }: ListedObject,
  options: { from?: number; signal?: AbortSignal } = {},
): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of store.open(bucket, key, { etag, size, ...options })) chunks.push(chunk);
  return Buffer.concat(chunks);
};

const list = async (prefix: string): Promise<ListedObject[][]> => {
  const pages: ListedObject[][] = [];
  for await (const page of store.list(bucket, folder + prefix)) pages.push(page);
  return pages;
};

type ClosableStore = ObjectStore & { close(): void };
function connect(options: StorageOptions): ClosableStore {
  const client = connectStorage(options);
  const patience = createPatience({ deadlineMs: DEADLINE_MS, log });
  return { ...createObjectStore(client, patience), close: client.close };
}
const storeWith = (options: { accessKeyId?: string; secretAccessKey?: string; region?: string }) => {
  const { region, accessKeyId, secretAccessKey } = { ...servers().s3, ...options };
  return connect({
    endpoint: proxy.endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    idleMs: IDLE_MS,
  });
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

describe('head and list', () => {
  it('agree on key, ETag and size', async () => {
    const object = await put('same/file.csv', 'abc');
    expect(await store.head(bucket, object.key)).toEqual(object);
    expect(await list('same/')).toEqual([[object]]);
  });

  it('head is null for an object that is not there, also if it is the beginning of others', async () => {
    await put('there/file.csv', 'abc');
    expect(await store.head(bucket, `${folder}nothing`)).toBeNull();
    expect(await store.head(bucket, `${folder}there`)).toBeNull();
    expect(await store.head(bucket, `${folder}there/file`)).toBeNull();
  });

  it('list leaves out what is no data; named exactly, it is there', async () => {
    const success = await put('done/_SUCCESS', '');
    await put('done/.part-0.csv.crc', 'x');
    await put('done/deep/_committed', 'x');
    const data = [await put('done/_folder/a.csv', 'abc'), await put('done/part-0.csv', 'abc')];
    expect((await list('done/')).flat()).toEqual(data);
    expect((await list('done/_SUCCESS')).flat()).toEqual([]);
    expect(await store.head(bucket, success.key)).toEqual(success);
  });

  it('list leaves out markers of folders, and keeps empty files and odd names', async () => {
    await put('odd/', '');
    const names = [
      'odd/a b+c.csv',
      'odd/empty.csv',
      'odd/quote"&<>\'.csv',
      'odd/ünï%20.csv',
      'odd/sub/x.csv',
    ];
    const objects: ListedObject[] = [];
    for (const name of names) objects.push(await put(name, name.includes('empty') ? '' : name));
    const listed = (await list('odd/')).flat();
    const byKey = (a: ListedObject, b: ListedObject) => (a.key < b.key ? -1 : 1);
    expect(listed.toSorted(byKey)).toEqual(objects.toSorted(byKey));
    for (const object of objects) expect((await read(object)).length).toBe(object.size);
  });

  it('list takes as many pages as there are', async () => {
    const names = Array.from({ length: 1_001 }, (_, number) => `many/${String(number).padStart(5, '0')}.csv`);
    for (let at = 0; at < names.length; at += 50) {
      await Promise.all(names.slice(at, at + 50).map((name) => put(name, 'x')));
    }
    const pages = await list('many/');
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flat().map(({ key }) => key)).toEqual(names.map((name) => folder + name));
  });

  it('list of nothing is nothing', async () => {
    expect((await list('nowhere/')).flat()).toEqual([]);
  });
});

describe('what storage refuses is a failure with a code', () => {
  const refusal = async (attempt: Promise<unknown>): Promise<string> => {
    const error = await attempt.then(
      () => new Error('it went through'),
      (error: Error) => error,
    );
    expect(error).toBeInstanceOf(StoreFailure);
    expect(error).toMatchObject({ retriable: false });
    expect(error.message).not.toContain(servers().s3.secretAccessKey);
    return (error as StoreFailure).code;
  };
  const listOf = (from: ObjectStore, of = bucket) => from.list(of, folder).next();

  it('an unknown access key, and a wrong secret', async () => {
    const { key } = await put('refused.csv', 'abc');
    for (const wrong of [{ accessKeyId: 'nobody' }, { secretAccessKey: 'wrong' }]) {
      const stranger = storeWith(wrong);
      expect(await refusal(stranger.head(bucket, key))).toBe('bad_credentials');
      expect(await refusal(listOf(stranger))).toBe('bad_credentials');
      expect(await refusal(stranger.open(bucket, key, { etag: 'x', size: 3 }).next())).toBe(
        'bad_credentials',
      );
      stranger.close();
    }
  });

  it('credentials that cannot be sent', async () => {
    const odd = storeWith({ accessKeyId: 'line\nbreak' });
    expect(await refusal(odd.head(bucket, 'x'))).toBe('bad_credentials');
    odd.close();
  });

  it('a region that cannot be one', async () => {
    const odd = storeWith({ region: 'no region' });
    expect(await refusal(odd.head(bucket, 'x'))).toBe('wrong_region');
    expect(await refusal(listOf(odd))).toBe('wrong_region');
    odd.close();
  });

  it('a bucket that does not exist', async () => {
    expect(await refusal(listOf(store, 'no-such-bucket-here'))).toBe('no_such_bucket');
    expect(await refusal(store.open('no-such-bucket-here', 'x', { etag: 'x', size: 1 }).next())).toBe(
      'no_such_bucket',
    );
  });

  it('a region that is not the bucket’s', async () => {
    const elsewhere = storeWith({ region: 'eu-west-3' });
    expect(await refusal(listOf(elsewhere))).toBe('wrong_region');
    expect(await refusal(elsewhere.head(bucket, `${folder}refused.csv`))).toBe('wrong_region');
    elsewhere.close();
  });

  it.each([
    ['AccessDenied', 403, 'access_denied'],
    ['PermanentRedirect', 301, 'wrong_region'],
    ['AuthorizationHeaderMalformed', 400, 'wrong_region'],
    ['InvalidAccessKeyId', 403, 'bad_credentials'],
    ['NoSuchBucket', 404, 'no_such_bucket'],
    ['NoSuchKey', 404, 'missing'],
    ['PreconditionFailed', 412, 'changed'],
    ['SomethingNew', 403, 'access_denied'],
    ['SomethingElse', 400, 'access_denied'],
  ])('%s (%d) is %s', async (code, status, expected) => {
    proxy.faults.push({ kind: 'status', status, code });
    expect(await refusal(store.open(bucket, 'x', { etag: 'x', size: 1 }).next())).toBe(expected);
  });

  it('an answer without a body is explained by a second one', async () => {
    proxy.faults.push(
      { kind: 'status', status: 403, code: 'Forbidden' },
      { kind: 'status', status: 403, code: 'InvalidAccessKeyId' },
    );
    expect(await refusal(store.head(bucket, 'x'))).toBe('bad_credentials');
  });
});

describe('a server in trouble can be asked again', () => {
  it.each([
    ['503', { kind: 'status', status: 503, code: 'SlowDown' }],
    ['500', { kind: 'status', status: 500, code: 'InternalError' }],
    ['429', { kind: 'status', status: 429, code: 'TooManyRequests' }],
    ['a reset', { kind: 'reset' }],
    ['silence', { kind: 'silence' }],
  ] as const)('one %s is not noticed', async (_, fault) => {
    const object = await put('trouble.csv', 'abc');
    proxy.faults.push(fault);
    expect(await store.head(bucket, object.key)).toEqual(object);
    proxy.faults.push(fault);
    expect((await list('trouble.csv')).flat()).toEqual([object]);
    proxy.faults.push(fault);
    expect((await read(object)).toString()).toBe('abc');
  });

  const unavailable = { name: 'StoreFailure', code: 'storage_unavailable', retriable: false };
  it.each([
    ['501', { kind: 'status', status: 501, code: 'NotImplemented' }],
    ['a reset', { kind: 'reset' }],
    ['silence', { kind: 'silence' }],
    ['bytes that are no HTTP', { kind: 'garbage', as: 'bytes' }],
    ['a web page', { kind: 'garbage', as: 'page' }],
    ['an error that is not XML', { kind: 'garbage', as: 'error' }],
    ['throttling by the key service', { kind: 'status', status: 400, code: 'KMS.ThrottlingException' }],
    ['throttling', { kind: 'status', status: 400, code: 'ThrottlingException' }],
  ] as const)('%s that stays is a failure after the deadline', async (_, fault) => {
    const object = await put('trouble.csv', 'abc');
    proxy.rules.add(() => fault);
    const from = performance.now();
    await Promise.all([
      expect(storeWith({}).head(bucket, object.key)).rejects.toMatchObject(unavailable),
      expect(storeWith({}).list(bucket, 'x').next()).rejects.toMatchObject(unavailable),
      expect(read(object)).rejects.toMatchObject(unavailable),
    ]);
    expect(performance.now() - from).toBeGreaterThan(DEADLINE_MS - 1);
  });

  it('a body that never comes behind its headers is a failure after the deadline', async () => {
    const object = await put('trouble.csv', 'abc');
    proxy.rules.add(() => ({ kind: 'stall', after: 0 }));
    await Promise.all([
      expect(storeWith({}).list(bucket, 'x').next()).rejects.toMatchObject(unavailable),
      expect(read(object)).rejects.toMatchObject(unavailable),
    ]);
  });

  it('once the deadline has passed, a job gets one more try for each of its files', async () => {
    proxy.rules.add(() => ({ kind: 'reset' }));
    await expect(store.head(bucket, 'x')).rejects.toMatchObject(unavailable);
    proxy.seen.length = 0;
    for (const key of ['a', 'b', 'c'])
      await expect(read({ key, etag: 'x', size: 5 })).rejects.toMatchObject(unavailable);
    expect(proxy.seen.map(({ path }) => path.split('?')[0]!.slice(-2))).toEqual(['/a', '/b', '/c']);
  });

  it('a server that is not there is a failure after the deadline', async () => {
    const { region, accessKeyId, secretAccessKey } = servers().s3;
    const credentials = { accessKeyId, secretAccessKey };
    const nowhere = connect({
      endpoint: 'http://127.0.0.1:1',
      region,
      credentials,
      idleMs: IDLE_MS,
    });
    await expect(nowhere.head(bucket, 'x')).rejects.toMatchObject(unavailable);
    nowhere.close();
  });
});

describe('open', () => {
  const content = randomBytes(3_000_000);

  it('reads a small file with one request', async () => {
    const object = await put('small.csv', 'abc');
    expect((await read(object)).toString()).toBe('abc');
    expect(proxy.seen).toHaveLength(1);
  });

  it('reads an empty file, and nothing from the end of one', async () => {
    expect(await read(await put('empty.csv', ''))).toHaveLength(0);
    const object = await put('small.csv', 'abc');
    expect(await read(object, { from: 3 })).toHaveLength(0);
  });

  it('begins where it is told', async () => {
    const object = await put('large.bin', content);
    expect((await read(object, { from: 1_234_567 })).equals(content.subarray(1_234_567))).toBe(true);
  });

  it('goes on at the byte reached after a cut, a stall, a reset and a 503', async () => {
    const object = await put('large.bin', content);
    proxy.faults.push(
      { kind: 'cut', after: 1_000_000 },
      { kind: 'stall', after: 500_000 },
      { kind: 'reset' },
      { kind: 'status', status: 503, code: 'SlowDown' },
      { kind: 'cut', after: 1 },
    );
    expect((await read(object)).equals(content)).toBe(true);
    expect(proxy.seen.map(({ range }) => range)).toEqual([
      undefined,
      'bytes=1000000-',
      'bytes=1500000-',
      'bytes=1500000-',
      'bytes=1500000-',
      'bytes=1500001-',
    ]);
  });

  it('never gives up while bytes come, and gives up when none do', async () => {
    const object = await put('slow.csv', 'abcdefghijkl');
    proxy.faults.push(...Array.from({ length: 11 }, () => ({ kind: 'cut', after: 1 }) as const));
    expect((await read(object)).toString()).toBe('abcdefghijkl');
    proxy.faults.push(...Array.from({ length: 100 }, () => ({ kind: 'cut', after: 0 }) as const));
    await expect(read(object)).rejects.toMatchObject({ code: 'storage_unavailable' });
    expect(proxy.faults.length).toBeGreaterThan(80);
  });

  it('does not count the time that the reader takes', async () => {
    const object = await put('large.bin', content);
    const chunks: Buffer[] = [];
    for await (const chunk of store.open(bucket, object.key, object)) {
      // Slowness is what is tested: a reader that waits for Kafka, while the storage has long sent the rest.
      if (chunks.length === 0) await new Promise((resolve) => setTimeout(resolve, 2 * IDLE_MS));
      chunks.push(chunk);
    }
    expect(Buffer.concat(chunks).equals(content)).toBe(true);
    expect(proxy.seen).toHaveLength(1);
  });

  it('notices a file that was replaced before it was opened', async () => {
    const listed = await put('replaced.csv', 'first');
    await put('replaced.csv', 'other');
    await expect(read(listed)).rejects.toMatchObject({ name: 'StoreFailure', code: 'changed' });
  });

  it('notices a file that was replaced between two requests', async () => {
    const listed = await put('replaced.bin', content);
    proxy.faults.push({ kind: 'cut', after: 1_000_000 });
    const reading = store.open(bucket, listed.key, listed);
    await reading.next();
    await put('replaced.bin', randomBytes(3_000_000));
    const rest = (async () => {
      for await (const _ of reading);
    })();
    await expect(rest).rejects.toMatchObject({ code: 'changed' });
  });

  it('notices a file that is gone', async () => {
    const listed = await put('gone.csv', 'abc');
    await writer.send(new DeleteObjectCommand({ Bucket: bucket, Key: listed.key }));
    await expect(read(listed)).rejects.toMatchObject({ name: 'StoreFailure', code: 'missing' });
  });

  it('stops at once when it is told to, with the reason given', async () => {
    const object = await put('large.bin', content);
    const reason = new Error('partition lost');
    for (const fault of [{ kind: 'stall', after: 1_000 }, { kind: 'silence' }] as const) {
      proxy.faults.push(fault);
      const abort = new AbortController();
      const reading = read(object, { signal: abort.signal });
      const asked = proxy.seen.length;
      await expect.poll(() => proxy.seen.length).toBeGreaterThan(asked);
      abort.abort(reason);
      await expect(reading).rejects.toBe(reason);
      proxy.faults.length = 0;
    }
    const aborted = AbortSignal.abort(reason);
    await expect(read(object, { signal: aborted })).rejects.toBe(reason);
  });
});
