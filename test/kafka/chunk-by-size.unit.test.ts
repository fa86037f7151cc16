import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chunkBySize, type OutgoingMessage } from '../../pipeline/kafka/publish.ts';

const LIMIT = 1_000;
const message = fc
  .record({ partition: fc.nat({ max: 3 }), key: fc.string({ maxLength: 10 }), size: fc.nat({ max: 1_400 }) })
  .map(({ partition, key, size }): OutgoingMessage => ({ partition, key, value: Buffer.alloc(size) }));
const size = ({ value, key }: OutgoingMessage) => value.length + key.length + 64;

it('loses nothing, keeps the order, and no request has too much for a partition unless one message alone is', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 60 }), (messages) => {
      const requests = chunkBySize(messages, LIMIT);
      expect(requests.flat()).toEqual(messages);
      for (const request of requests) {
        expect(request.length).toBeGreaterThan(0);
        for (const partition of [0, 1, 2, 3]) {
          const own = request.filter((one) => one.partition === partition);
          const total = own.reduce((sum, one) => sum + size(one), 0);
          expect(own.length <= 1 || total <= LIMIT).toBe(true);
        }
      }
    }),
  );
});

it('one request is enough where everything fits', () => {
  const small = Array.from({ length: 40 }, (_, n) => ({
    partition: n % 4,
    key: 'k',
    value: Buffer.alloc(10),
  }));
  expect(chunkBySize(small, LIMIT)).toHaveLength(1);
  expect(chunkBySize([], LIMIT)).toEqual([]);
});
