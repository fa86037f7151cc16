/** Objects in a bucket, and errors of a storage that refuses or fails. */
import { describe, expect, it } from 'vitest';
import { checkStorage } from '../../deploy/cli/operator/doctor/check-storage.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createBucketProbe } from '../../pipeline/sources/bucket-probe.ts';
import { type ListedObject, type ObjectStore, StoreFailure } from '../../pipeline/sources/object-store.ts';
import { parseConfig } from '../../schemas/config.ts';
import { eventually } from '../support/eventually.ts';
import { servers, uniqueEnvironment } from '../support/stack.ts';
import { connect, hasty, SHORT_IDLE_MS, setUpStorage } from './storage-fixture.ts';

const storage = setUpStorage();
const { folder, put, read, list, storeWith } = storage;

describe('head and list', () => {
  it('agree on key, ETag and size', async () => {
    const object = await put('same/file.csv', 'abc');
    expect(await storage.store.head(storage.bucket, object.key)).toEqual(object);
    expect(await list('same/')).toEqual([[object]]);
  });

  it('head is null for an object that is not there, also if it is the beginning of others', async () => {
    await put('there/file.csv', 'abc');
    expect(await storage.store.head(storage.bucket, `${folder}nothing`)).toBeNull();
    expect(await storage.store.head(storage.bucket, `${folder}there`)).toBeNull();
    expect(await storage.store.head(storage.bucket, `${folder}there/file`)).toBeNull();
  });

  it('list leaves out what is no data; named exactly, it is there', async () => {
    const success = await put('done/_SUCCESS', '');
    await put('done/.part-0.csv.crc', 'x');
    await put('done/deep/_committed', 'x');
    const data = [await put('done/_folder/a.csv', 'abc'), await put('done/part-0.csv', 'abc')];
    expect((await list('done/')).flat()).toEqual(data);
    expect((await list('done/_SUCCESS')).flat()).toEqual([]);
    expect(await storage.store.head(storage.bucket, success.key)).toEqual(success);
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

describe('headers that no storage should send', () => {
  const date = 'Tue, 17 Nov 2026 16:24:08 GMT';
  it.each([
    ['two Date headers', { date: [date, date] }],
    ['a Date that is none', { date: ['yesterday'] }],
    ['a Last-Modified that is none', { 'last-modified': ['yesterday'] }],
  ])('%s: everything can be read, time after time', async (_, headers) => {
    const object = await put('odd-headers.csv', 'abc');
    storage.proxy.rules.add(() => ({ kind: 'headers', headers }));
    for (let i = 0; i < 2; i++) {
      expect(await storage.store.head(storage.bucket, object.key)).toEqual(object);
      expect((await list('odd-headers')).flat()).toEqual([object]);
      expect(String(await read(object))).toBe('abc');
      expect(await storage.store.head(storage.bucket, `${folder}nothing`)).toBeNull();
    }
  });

  it('the service is ready all the same, and says what is wrong; so does the doctor', async () => {
    storage.proxy.rules.add(() => ({ kind: 'headers', headers: { date: [date, date] } }));
    const config = parseConfig({ ...uniqueEnvironment(), HEADRACE_S3_ENDPOINT: storage.proxy.endpoint });
    const probeTwice = async () => {
      const said: string[] = [];
      const log = createLogger({ logLevel: 'warn' }, 'test', { write: (line) => void said.push(line) });
      const probe = createBucketProbe(config, log);
      await probe.requireBucket();
      const readable = [await probe.isReadable(), await probe.isReadable()];
      probe.close();
      return { readable, said: said.map((line) => JSON.parse(line)) };
    };
    // Both give up after five seconds, which a slow host may take.
    await eventually(probeTwice).toMatchObject({
      readable: [true, true],
      said: [{ msg: expect.stringContaining('a date header that is no date'), value: `${date}, ${date}` }],
    });
    const statesOf = async () => (await checkStorage(config)).map(({ check, state }) => [check, state]);
    await eventually(statesOf).toEqual([
      ['storage', 'ok'],
      ['storage clock', 'warning'],
    ]);
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
  const listOf = (from: ObjectStore, of = storage.bucket) => from.list(of, folder).next();

  it('an unknown access key, and a wrong secret', async () => {
    const { key } = await put('refused.csv', 'abc');
    for (const wrong of [{ accessKeyId: 'nobody' }, { secretAccessKey: 'wrong' }]) {
      const stranger = storeWith(wrong);
      expect(await refusal(stranger.head(storage.bucket, key))).toBe('bad_credentials');
      expect(await refusal(listOf(stranger))).toBe('bad_credentials');
      expect(await refusal(stranger.open(storage.bucket, key, { etag: 'x', size: 3 }).next())).toBe(
        'bad_credentials',
      );
      stranger.close();
    }
  });

  it('credentials that cannot be sent', async () => {
    const odd = storeWith({ accessKeyId: 'line\nbreak' });
    expect(await refusal(odd.head(storage.bucket, 'x'))).toBe('bad_credentials');
    odd.close();
  });

  it('a region that cannot be one', async () => {
    const odd = storeWith({ region: 'no region' });
    expect(await refusal(odd.head(storage.bucket, 'x'))).toBe('wrong_region');
    expect(await refusal(listOf(odd))).toBe('wrong_region');
    odd.close();
  });

  it('a bucket that does not exist', async () => {
    expect(await refusal(listOf(storage.store, 'no-such-bucket-here'))).toBe('no_such_bucket');
    expect(await refusal(storage.store.open('no-such-bucket-here', 'x', { etag: 'x', size: 1 }).next())).toBe(
      'no_such_bucket',
    );
  });

  it('a region that is not the bucket’s', async () => {
    const elsewhere = storeWith({ region: 'eu-west-3' });
    expect(await refusal(listOf(elsewhere))).toBe('wrong_region');
    expect(await refusal(elsewhere.head(storage.bucket, `${folder}refused.csv`))).toBe('wrong_region');
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
    storage.proxy.faults.push({ kind: 'status', status, code });
    expect(await refusal(storage.store.open(storage.bucket, 'x', { etag: 'x', size: 1 }).next())).toBe(
      expected,
    );
  });

  it('an answer without a body is explained by a second one', async () => {
    storage.proxy.faults.push(
      { kind: 'status', status: 403, code: 'Forbidden' },
      { kind: 'status', status: 403, code: 'InvalidAccessKeyId' },
    );
    expect(await refusal(storage.store.head(storage.bucket, 'x'))).toBe('bad_credentials');
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
    const store = storeWith({ idleMs: SHORT_IDLE_MS });
    storage.proxy.faults.push(fault);
    expect(await store.head(storage.bucket, object.key)).toEqual(object);
    storage.proxy.faults.push(fault);
    const { value: page } = await store.list(storage.bucket, object.key).next();
    expect(page).toMatchObject({ objects: [object] });
    storage.proxy.faults.push(fault);
    expect((await read(object, {}, store)).toString()).toBe('abc');
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
    storage.proxy.rules.add(() => fault);
    const from = performance.now();
    await Promise.all([
      expect(storeWith(hasty).head(storage.bucket, object.key)).rejects.toMatchObject(unavailable),
      expect(storeWith(hasty).list(storage.bucket, 'x').next()).rejects.toMatchObject(unavailable),
      expect(read(object, {}, storeWith(hasty))).rejects.toMatchObject(unavailable),
    ]);
    expect(performance.now() - from).toBeGreaterThan(hasty.deadlineMs - 1);
  });

  it('a body that never comes behind its headers is a failure after the deadline', async () => {
    const object = await put('trouble.csv', 'abc');
    storage.proxy.rules.add(() => ({ kind: 'stall', after: 0 }));
    await Promise.all([
      expect(storeWith(hasty).list(storage.bucket, 'x').next()).rejects.toMatchObject(unavailable),
      expect(read(object, {}, storeWith(hasty))).rejects.toMatchObject(unavailable),
    ]);
  });

  it('once the deadline has passed, a job gets one more try for each of its files', async () => {
    // Forgiven after two deadlines: a long deadline ensures that the test ends before.
    const store = storeWith({ ...hasty, deadlineMs: 20_000 });
    storage.proxy.rules.add(() => ({ kind: 'reset' }));
    await expect(store.head(storage.bucket, 'x')).rejects.toMatchObject(unavailable);
    storage.proxy.seen.length = 0;
    for (const key of ['a', 'b', 'c'])
      await expect(read({ key, etag: 'x', size: 5 }, {}, store)).rejects.toMatchObject(unavailable);
    expect(storage.proxy.seen.map(({ path }) => path.split('?')[0]!.slice(-2))).toEqual(['/a', '/b', '/c']);
  });

  it('a server that is not there is a failure after the deadline', async () => {
    const { region, accessKeyId, secretAccessKey } = servers().s3;
    const credentials = { accessKeyId, secretAccessKey };
    const nowhere = connect({ endpoint: 'http://127.0.0.1:1', region, credentials, ...hasty }, hasty);
    await expect(nowhere.head(storage.bucket, 'x')).rejects.toMatchObject(unavailable);
    nowhere.close();
  });
});
