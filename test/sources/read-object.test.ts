/** Reads one object to its end, whatever the storage does. */
import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { hasty, SHORT_IDLE_MS, setUpStorage } from './storage-fixture.ts';

const storage = setUpStorage();
const { put, read } = storage;

describe('open', () => {
  const content = randomBytes(3_000_000);

  it('reads a small file with one request', async () => {
    const object = await put('small.csv', 'abc');
    expect((await read(object)).toString()).toBe('abc');
    expect(storage.proxy.seen).toHaveLength(1);
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
    storage.proxy.faults.push(
      { kind: 'cut', after: 1_000_000 },
      { kind: 'stall', after: 500_000 },
      { kind: 'reset' },
      { kind: 'status', status: 503, code: 'SlowDown' },
      { kind: 'cut', after: 1 },
    );
    const store = storage.storeWith({ idleMs: SHORT_IDLE_MS });
    expect((await read(object, {}, store)).equals(content)).toBe(true);
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
    storage.proxy.faults.push(...Array.from({ length: 11 }, () => ({ kind: 'cut', after: 1 }) as const));
    expect((await read(object)).toString()).toBe('abcdefghijkl');
    storage.proxy.faults.push(...Array.from({ length: 100 }, () => ({ kind: 'cut', after: 0 }) as const));
    await expect(read(object, {}, storage.storeWith(hasty))).rejects.toMatchObject({
      code: 'storage_unavailable',
    });
    expect(storage.proxy.faults.length).toBeGreaterThan(80);
  });

  it('gives up when bytes come too slowly, also with a connection for each', async () => {
    const object = await put('large.bin', content);
    const slow = { ...hasty, minRate: 10_000 };
    const tooSlow = { name: 'StoreFailure', code: 'storage_too_slow', retriable: false };
    storage.proxy.rules.add(() => ({ kind: 'trickle', bytes: 10, everyMs: 50 }));
    await expect(read(object, {}, storage.storeWith(slow))).rejects.toMatchObject(tooSlow);
    storage.proxy.rules.clear();
    storage.proxy.rules.add(() => ({ kind: 'cut', after: 1 }));
    await expect(read(object, {}, storage.storeWith(slow))).rejects.toMatchObject(tooSlow);
  });

  it('does not count the time that the reader takes', async () => {
    const object = await put('large.bin', content);
    const store = storage.storeWith({ idleMs: SHORT_IDLE_MS });
    const chunks: Buffer[] = [];
    for await (const chunk of store.open(storage.bucket, object.key, object)) {
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
    await expect(read(listed)).rejects.toMatchObject({ name: 'StoreFailure', code: 'changed' });
  });

  it('notices a file that was replaced between two requests', async () => {
    const listed = await put('replaced.bin', content);
    storage.proxy.faults.push({ kind: 'cut', after: 1_000_000 });
    const reading = storage.store.open(storage.bucket, listed.key, listed);
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
    await expect(read(listed)).rejects.toMatchObject({ name: 'StoreFailure', code: 'missing' });
  });

  it('stops at once when it is told to, with the reason given', async () => {
    const object = await put('large.bin', content);
    const reason = new Error('partition lost');
    for (const fault of [{ kind: 'stall', after: 1_000 }, { kind: 'silence' }] as const) {
      storage.proxy.faults.push(fault);
      const abort = new AbortController();
      const asked = storage.proxy.seen.length;
      const reading = read(object, { signal: abort.signal });
      await eventually(() => storage.proxy.seen.length).toBeGreaterThan(asked);
      abort.abort(reason);
      await expect(reading).rejects.toBe(reason);
      storage.proxy.faults.length = 0;
    }
    const aborted = AbortSignal.abort(reason);
    await expect(read(object, { signal: aborted })).rejects.toBe(reason);
  });
});
