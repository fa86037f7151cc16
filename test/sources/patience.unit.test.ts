import { expect, it } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createPatience, type Patience } from '../../pipeline/sources/patience.ts';
import { StoreUnavailable, storeFailure } from '../../pipeline/sources/store-errors.ts';
import { waitFor } from '../support/wait-for.ts';

const DEADLINE_MS = 600;
/** The clock of a wait begins before the one of the test, and timers fire a little early. */
const nearly = (ms: number) => 0.9 * ms;
const log = createLogger({ logLevel: 'silent' }, 'test');
const create = (isReadable?: () => Promise<boolean>) =>
  createPatience({ deadlineMs: DEADLINE_MS, log, ...(isReadable ? { isReadable } : {}) });
const trouble = () => new StoreUnavailable('trouble');

/** Tries that bring nothing, until patience is over: how many, and for how long. */
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
    patience.wait('bucket', 'another').progress();
    const { ms, tries } = await exhaust(patience);
    expect(ms).toBeGreaterThanOrEqual(nearly(DEADLINE_MS / share));
    expect(tries).toBeGreaterThan(1);
    expect(await exhaust(patience)).toMatchObject({ tries: 1 });
  }
});

it('it is forgiven after a while', async () => {
  const patience = create();
  await exhaust(patience);
  const from = performance.now();
  await waitFor(() => performance.now() - from > 2 * DEADLINE_MS, { what: 'two deadlines' });
  expect((await exhaust(patience)).ms).toBeGreaterThanOrEqual(nearly(DEADLINE_MS));
});

it('files that wait side by side use the time up once', async () => {
  const patience = create();
  await Promise.all(Array.from({ length: 16 }, () => exhaust(patience)));
  patience.wait('bucket', 'another').progress();
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
