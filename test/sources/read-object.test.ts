/** Reads one object to its end, whatever the storage does. */
import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectStore } from '../../pipeline/sources/object-store.ts';
import { eventually } from '../support/eventually.ts';
import { hasty, SHORT_IDLE_MS, setUpStorage } from './storage-fixture.ts';

const storage = setUpStorage();
const { put, read } = storage;
const content = randomBytes(3_000_000);

describe.each([
  ['the first object that a client reads', false],
  ['a later one, requested without the S3 client', true],
])('open: %s', (_, isLater) => {
  /** A store that has read an object of the bucket, or has not. */
  async function storeWith(options: Parameters<typeof storage.storeWith>[0]): Promise<ObjectStore> {
    const store = storage.storeWith(options);
    if (!isLater) return store;
    const rules = [...storage.proxy.rules];
    const faults = storage.proxy.faults.splice(0);
    storage.proxy.rules.clear();
    await read(await put('before.csv', 'x'), {}, store);
    for (const rule of rules) storage.proxy.rules.add(rule);
    storage.proxy.faults.push(...faults);
    storage.proxy.seen.length = 0;
    return store;
  }
  let store: ObjectStore;
  beforeEach(async () => {
    store = await storeWith({});
  });
  afterEach(() =>
    expect(storage.proxy.seen.slice(0, 1).every(({ path }) => path.includes('x-id') !== isLater)).toBe(true),
  );

  it('reads a small file with one request', async () => {
    const object = await put('small.csv', 'abc');
    expect((await read(object, {}, store)).toString()).toBe('abc');
    expect(storage.proxy.seen).toHaveLength(1);
  });

  it('reads an empty file, and nothing from the end of one', async () => {
    expect(await read(await put('empty.csv', ''), {}, store)).toHaveLength(0);
    const object = await put('small.csv', 'abc');
    expect(await read(object, { from: 3 }, store)).toHaveLength(0);
  });

  it('begins where it is told', async () => {
    const object = await put('large.bin', content);
    expect((await read(object, { from: 1_234_567 }, store)).equals(content.subarray(1_234_567))).toBe(true);
  });

  it('goes on at the byte reached after a cut, a stall, a reset and a 503', async () => {
    const object = await put('large.bin', content);
    storage.proxy.faults.push(
      { kind: 'cut', after: 1_000_000 },
      { kind: 'stall', after: 500_000 },
      { kind: 'reset' },
      { kind: 'status', status: 503, code: 'SlowDown' },
      { kind: 'cut', after: 1 },
    );
    const short = await storeWith({ idleMs: SHORT_IDLE_MS });
    expect((await read(object, {}, short)).equals(content)).toBe(true);
    expect(storage.proxy.seen.map(({ range }) => range)).toEqual([
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
    const impatient = await storeWith(hasty);
    storage.proxy.faults.push(...Array.from({ length: 11 }, () => ({ kind: 'cut', after: 1 }) as const));
    expect((await read(object, {}, store)).toString()).toBe('abcdefghijkl');
    storage.proxy.faults.push(...Array.from({ length: 100 }, () => ({ kind: 'cut', after: 0 }) as const));
    await expect(read(object, {}, impatient)).rejects.toMatchObject({
      code: 'storage_unavailable',
    });
    expect(storage.proxy.faults.length).toBeGreaterThan(80);
  });

  it('gives up when bytes come too slowly, also with a connection for each', async () => {
    const object = await put('large.bin', content);
    const slow = { ...hasty, minRate: 10_000 };
    const tooSlow = { name: 'StoreFailure', code: 'storage_too_slow', retriable: false };
    storage.proxy.rules.add(() => ({ kind: 'trickle', bytes: 10, everyMs: 50 }));
    await expect(read(object, {}, await storeWith(slow))).rejects.toMatchObject(tooSlow);
    storage.proxy.rules.clear();
    storage.proxy.rules.add(() => ({ kind: 'cut', after: 1 }));
    await expect(read(object, {}, await storeWith(slow))).rejects.toMatchObject(tooSlow);
  });

  it('does not count the time that the reader takes', async () => {
    const object = await put('large.bin', content);
    const short = await storeWith({ idleMs: SHORT_IDLE_MS });
    const chunks: Buffer[] = [];
    for await (const chunk of short.open(storage.bucket, object.key, object)) {
      // A slow reader is what this tests: it waits for Kafka, while the storage has long sent the rest.
      if (chunks.length === 0) await new Promise((resolve) => setTimeout(resolve, 2 * SHORT_IDLE_MS));
      chunks.push(chunk);
    }
    expect(Buffer.concat(chunks).equals(content)).toBe(true);
    expect(storage.proxy.seen).toHaveLength(1);
  });

  it('notices a file that was replaced before it was opened', async () => {
    const listed = await put('replaced.csv', 'first');
    await put('replaced.csv', 'other');
    await expect(read(listed, {}, store)).rejects.toMatchObject({ name: 'StoreFailure', code: 'changed' });
  });

  it('notices a file that was replaced between two requests', async () => {
    const listed = await put('replaced.bin', content);
    storage.proxy.faults.push({ kind: 'cut', after: 1_000_000 });
    const reading = store.open(storage.bucket, listed.key, listed);
    await reading.next();
    await put('replaced.bin', randomBytes(3_000_000));
    const rest = (async () => {
      for await (const _ of reading);
    })();
    await expect(rest).rejects.toMatchObject({ code: 'changed' });
  });

  it('notices a file that is gone', async () => {
    const listed = await put('gone.csv', 'abc');
    await storage.writer.send(new DeleteObjectCommand({ Bucket: storage.bucket, Key: listed.key }));
    await expect(read(listed, {}, store)).rejects.toMatchObject({ name: 'StoreFailure', code: 'missing' });
  });

  it('stops at once when it is told to, with the reason given', async () => {
    const object = await put('large.bin', content);
    const reason = new Error('partition lost');
    for (const fault of [{ kind: 'stall', after: 1_000 }, { kind: 'silence' }] as const) {
      storage.proxy.faults.push(fault);
      const abort = new AbortController();
      const asked = storage.proxy.seen.length;
      const reading = read(object, { signal: abort.signal }, store);
      await eventually(() => storage.proxy.seen.length).toBeGreaterThan(asked);
      abort.abort(reason);
      await expect(reading).rejects.toBe(reason);
      storage.proxy.faults.length = 0;
    }
    const aborted = AbortSignal.abort(reason);
    await expect(read(object, { signal: aborted }, store)).rejects.toBe(reason);
  });
});

describe('requests without the S3 client', () => {
  const names = ['a b+c%20d', "it's (1)!*", 'ü/é/日本', 'x//y', 'a&b=c?d#e', '~tilde_-.csv', '@:,;$'];

  it('find and read objects of any name', async () => {
    await read(await put('before.csv', 'x'));
    for (const name of names) {
      const object = await put(name, name);
      expect(await storage.store.head(storage.bucket, object.key)).toEqual(object);
      expect((await read(object)).toString()).toBe(name);
    }
    const direct = storage.proxy.seen.slice(1);
    expect(direct).toHaveLength(2 * names.length);
    expect(direct.some(({ path }) => path.includes('x-id'))).toBe(false);
  });

  it('are left to the client when they are refused, which then knows the reason', async () => {
    const object = await put('refused.csv', 'abc');
    const store = storage.storeWith(hasty);
    await read(object, {}, store);
    storage.proxy.rules.add(() => ({ kind: 'status', status: 403, code: 'InvalidAccessKeyId' }));
    await expect(read(object, {}, store)).rejects.toMatchObject({ code: 'bad_credentials' });
    expect(storage.proxy.seen.slice(1).map(({ path }) => path.includes('x-id'))).toEqual([false, true]);
  });
});
