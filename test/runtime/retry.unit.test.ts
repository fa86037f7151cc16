import { type BulkWriteResult, MongoBulkWriteError, MongoNetworkError, MongoServerError } from 'mongodb';
import { expect, it } from 'vitest';
import { isPassing } from '../../pipeline/runtime/retry.ts';

const bulk = (error: ConstructorParameters<typeof MongoBulkWriteError>[0]) =>
  new MongoBulkWriteError(error, {} as BulkWriteResult);

it.each([
  ['a connection that broke', new MongoNetworkError('read ECONNRESET'), true],
  ['a bulk write whose connection broke', bulk(new MongoNetworkError('read ECONNRESET')), true],
  ['a bulk write on a primary that steps down', bulk(new MongoServerError({ code: 189 })), true],
  ['a bulk write that is not understood', bulk(new MongoServerError({ code: 9 })), false],
  ['a bulk write of a key that is there', bulk({ message: 'E11000 duplicate key', code: 11000 }), false],
  ['a mistake of ours', new TypeError('x is not a function'), false],
])('%s', (_, error, passing) => {
  expect(isPassing(error)).toBe(passing);
});
