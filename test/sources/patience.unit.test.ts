import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createPatience, type Patience } from '../../pipeline/sources/patience.ts';
import { type StoreFailure, StoreUnavailable, storeFailure } from '../../pipeline/sources/store-errors.ts';

// Use the global timers, which vitest replaces.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}));
/** A fake clock that advances to the next timer whenever there is nothing else to do. */
beforeEach(() => {
  vi.useFakeTimers();
  vi.setTimerTickMode('nextTimerAsync');
});
afterEach(() => {
  vi.useRealTimers();
});

const DEADLINE_MS = 600;
/** Waits are rounded to milliseconds. */
const nearly = (ms: number) => 0.99 * ms;
const log = createLogger({ logLevel: 'silent' }, 'test');
/** Bytes per second. */
const MIN_RATE = 1_000;
const create = (isReadable?: () => Promise<boolean>) =>
  createPatience({
    deadlineMs: DEADLINE_MS,
    minRate: MIN_RATE,
    log,
    ...(isReadable ? { isReadable } : {}),
  });
const trouble = () => new StoreUnavailable('trouble');

/** Tries without progress until patience ends; returns their number and duration. */
async function exhaust(patience: Patience): Promise<{ tries: number; ms: number }> {
  const wait = patience.wait('bucket', 'key');
  const from = performance.now();
  for (let tries = 1; ; tries++) {
    const over = await wait.again(trouble()).then(
      () => null,
      (error: unknown) => error,
    );
    if (!over) continue;
    expect(over).toMatchObject({ name: 'StoreFailure', code: 'storage_unavailable' });
    return { tries, ms: performance.now() - from };
  }
}

/** Progress of another file, a moment later. */
function laterProgress(patience: Patience): void {
  vi.advanceTimersByTime(1);
  patience.wait('bucket', 'another').progress();
}

it('a job waits for the deadline; then each of its files gets one try', async () => {
  const patience = create();
  const first = await exhaust(patience);
  expect(first.ms).toBeGreaterThanOrEqual(nearly(DEADLINE_MS));
  expect(first.tries).toBeGreaterThan(1);
  expect(await exhaust(patience)).toMatchObject({ tries: 1 });
});

it('progress of another file gives half of the time, and half of that the next time', async () => {
  const patience = create();
  await exhaust(patience);
  for (const share of [2, 4]) {
    laterProgress(patience);
    const { ms, tries } = await exhaust(patience);
    expect(ms).toBeGreaterThanOrEqual(nearly(DEADLINE_MS / share));
    expect(tries).toBeGreaterThan(1);
    expect(await exhaust(patience)).toMatchObject({ tries: 1 });
  }
});

it('it is forgiven after a while', async () => {
  const patience = create();
  await exhaust(patience);
  vi.advanceTimersByTime(2 * DEADLINE_MS + 1);
  expect((await exhaust(patience)).ms).toBeGreaterThanOrEqual(nearly(DEADLINE_MS));
});

it('files that wait side by side use the time up once', async () => {
  const patience = create();
  await Promise.all(Array.from({ length: 16 }, () => exhaust(patience)));
  laterProgress(patience);
  expect((await exhaust(patience)).ms).toBeGreaterThanOrEqual(nearly(DEADLINE_MS / 2));
});

it('while the storage as a whole cannot be read, the clock stands still, and refusals do not count', async () => {
  let readable = false;
  const patience = create(async () => readable);
  const wait = patience.wait('bucket', 'key');
  const from = performance.now();
  while (performance.now() - from < 2 * DEADLINE_MS) {
    await wait.again(trouble());
    await wait.again(storeFailure('bad_credentials', 'bucket', 'key'));
  }
  await expect(wait.again(storeFailure('missing', 'bucket', 'key'))).rejects.toMatchObject({
    code: 'missing',
  });
  readable = true;
  await expect(wait.again(storeFailure('access_denied', 'bucket', 'key'))).rejects.toMatchObject({
    code: 'access_denied',
  });
  expect((await exhaust(patience)).ms).toBeGreaterThanOrEqual(nearly(DEADLINE_MS));
});

/** Receives this many bytes every 50 ms, until they are too few or `upToMs` has passed. */
async function trickle(patience: Patience, bytes: number, upToMs = Number.POSITIVE_INFINITY) {
  const wait = patience.wait('bucket', 'key');
  const from = performance.now();
  while (performance.now() - from < upToMs) {
    vi.advanceTimersByTime(50);
    try {
      wait.received(bytes);
    } catch (error) {
      await wait.again(error as StoreFailure);
      return 'waits';
    }
    // The reader's own time does not count.
    vi.advanceTimersByTime(200);
    wait.progress();
  }
  return 'fast enough';
}
const tooSlow = { name: 'StoreFailure', code: 'storage_too_slow' };

it('a body that comes below the minimum rate for the deadline is too slow; at the rate it is fine', async () => {
  expect(await trickle(create(), MIN_RATE / 20, 20 * DEADLINE_MS)).toBe('fast enough');
  await expect(trickle(create(), MIN_RATE / 20 - 1)).rejects.toMatchObject(tooSlow);
});

it('one that was fast once does not live on it', async () => {
  const wait = create().wait('bucket', 'key');
  wait.received(100 * MIN_RATE);
  const read = () => {
    for (let ms = 0; ms <= 3 * DEADLINE_MS; ms += 50) {
      vi.advanceTimersByTime(50);
      wait.received(1);
    }
  };
  expect(read).toThrow('The storage delivered too slowly: s3://bucket/key (');
});

it('tries that fail between the bytes count, too', async () => {
  const wait = create().wait('bucket', 'key');
  const read = async () => {
    for (;;) {
      wait.received(1);
      wait.progress();
      await wait.again(trouble());
    }
  };
  await expect(read()).rejects.toMatchObject(tooSlow);
});

it('while the storage as a whole cannot be read, a slow body is no failure of the job', async () => {
  expect(
    await trickle(
      create(async () => false),
      1,
    ),
  ).toBe('waits');
});
