import { type BulkWriteResult, MongoBulkWriteError, MongoNetworkError, MongoServerError } from 'mongodb';
import { expect, it } from 'vitest';
import { backoff, createRetry, isTransient } from '../../pipeline/engine/retry.ts';

const bulk = (error: ConstructorParameters<typeof MongoBulkWriteError>[0]) =>
  new MongoBulkWriteError(error, {} as BulkWriteResult);

it.each([
  ['a connection that broke', new MongoNetworkError('read ECONNRESET'), true],
  ['a bulk write whose connection broke', bulk(new MongoNetworkError('read ECONNRESET')), true],
  ['a bulk write on a primary that steps down', bulk(new MongoServerError({ code: 189 })), true],
  [
    'a bulk write on a full disk',
    bulk({ message: '28: No space left on device', code: 8, writeErrors: [] }),
    true,
  ],
  ['a bulk write that is not understood', bulk(new MongoServerError({ code: 9 })), false],
  ['a bulk write of a key that is there', bulk({ message: 'E11000 duplicate key', code: 11000 }), false],
  ['a mistake of ours', new TypeError('x is not a function'), false],
])('%s', (_, error, passing) => {
  expect(isTransient(error)).toBe(passing);
});

/** Fails this many times, each time with another message. */
const failing = (times: number, make = (message: string) => new MongoNetworkError(message) as Error) => {
  let tries = 0;
  return async () => {
    if (++tries <= times) throw make(`failure ${tries}`);
    return tries;
  };
};

it('repeats a transient failure until it succeeds, and no other', async () => {
  const retry = createRetry(undefined, { firstMs: 1 });
  expect(await retry('a step', failing(3))).toBe(4);
  await expect(
    retry(
      'a step',
      failing(3, (message) => new TypeError(message)),
    ),
  ).rejects.toThrow('failure 1');
});

it('asks the caller what is worth another try, and ends after as many as it was given', async () => {
  const retry = createRetry(undefined, {
    when: (error) => error instanceof TypeError,
    maxTries: 3,
    firstMs: 1,
  });
  const typeError = (message: string) => new TypeError(message);
  expect(await retry('a step', failing(2, typeError))).toBe(3);
  await expect(retry('a step', failing(3, typeError))).rejects.toThrow('failure 3');
  await expect(retry('a step', failing(1))).rejects.toThrow('failure 1');
});

it('ends its wait with the signal', async () => {
  const stop = new AbortController();
  const retrying = createRetry(undefined, { firstMs: 60_000, maxMs: 60_000 })(
    'a step',
    failing(1),
    stop.signal,
  );
  stop.abort(new Error('stopping'));
  await expect(retrying).rejects.toThrow();
});

it('waits twice as long each time, up to the longest wait, never less than half of it', () => {
  for (const [tries, longest] of [
    [1, 50],
    [2, 100],
    [6, 1_600],
    [7, 2_000],
    [1_000, 2_000],
  ] as const) {
    const wait = backoff(tries, 50, 2_000);
    expect(wait).toBeGreaterThanOrEqual(longest / 2);
    expect(wait).toBeLessThanOrEqual(longest);
  }
});
