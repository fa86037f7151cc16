/** Pages are found in a reply wherever their documents are, and whatever surrounds them. */
import fc from 'fast-check';
import { Binary, BSON, Long } from 'mongodb';
import { expect, it } from 'vitest';
import { pagesIn, type StoredPage } from '../../pipeline/sets/page-reply.ts';
import { pageId } from '../../pipeline/sets/regions.ts';

const anyPage = fc.record({
  level: fc.constantFrom('m#1:token.0:', 'm#1:token.1:', 'm#11:token.0:', 'a12.3#15:other.z:'),
  start: fc.integer({ min: 0, max: 2 ** 28 - 1 }),
  d: fc.uint8Array({ maxLength: 64 }),
  k: fc.uint8Array({ maxLength: 300 }),
  v: fc.nat(3),
});

const toPlain = ({ level, start, reply, devices, devicesEnd, keys, keysEnd, changes }: StoredPage) => ({
  level,
  start,
  d: Uint8Array.from(reply.subarray(devices, devicesEnd)),
  k: Uint8Array.from(reply.subarray(keys, keysEnd)),
  v: changes,
});

it('finds every page with its identifiers and keys', () => {
  fc.assert(
    fc.property(fc.array(anyPage, { maxLength: 30 }), fc.boolean(), fc.nat(7), (pages, isLast, shift) => {
      const firstBatch = pages.map(({ level, start, d, k, v }) => ({
        _id: pageId(level, start),
        d: new Binary(d),
        k: new Binary(k),
        ...(v > 0 ? { v } : {}),
      }));
      const rest = { id: Long.ZERO, ns: 'headrace.pages', partialResultsReturned: false };
      const bytes = BSON.serialize(isLast ? { ...rest, firstBatch } : { firstBatch, ...rest });
      const reply = Buffer.concat([new Uint8Array(shift), bytes]).subarray(shift);
      expect(pagesIn(reply).map(toPlain)).toEqual(pages);
    }),
  );
});

it('refuses what is no page', () => {
  expect(() => pagesIn(Buffer.from(BSON.serialize({ batch: [] })))).toThrow('no firstBatch or nextBatch');
  expect(() => pagesIn(Buffer.from(BSON.serialize({ firstBatch: [{ n: 1 }] })))).toThrow('a field of type');
});
