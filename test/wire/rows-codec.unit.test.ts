import avro from 'avsc';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decode, encode, MalformedMessage } from '../../pipeline/wire/codec.ts';
import { messages, type RowBatch } from '../../schemas/topics.ts';

const long = fc.nat({ max: Number.MAX_SAFE_INTEGER - 1 });
const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const batch: fc.Arbitrary<RowBatch> = fc.record({
  job: long,
  file: fc.nat(),
  batch: fc.nat(),
  last: fc.boolean(),
  partner: text,
  layout: fc.constantFrom('attributes', 'audience', 'identifiers'),
  path: text,
  start: long,
  end: long,
  first_line: long,
  lines: long,
  delimiter: fc.nat({ max: 255 }),
  rows: fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)),
  failure: fc.option(fc.record({ code: text, message: text, line: fc.option(long) })),
  attempt: fc.nat(),
});
const type = avro.Type.forSchema(messages.RowBatch.schema);

it('RowBatch, encoded by hand, is byte for byte what avsc writes, and comes back as it was', () => {
  fc.assert(
    fc.property(batch, (message) => {
      const encoded = encode('RowBatch', message);
      expect(encoded.subarray(5).equals(type.toBuffer(message))).toBe(true);
      expect(decode(encoded, ['RowBatch']).value).toEqual(message);
    }),
  );
});

it('RowBatch cut short anywhere, or with bytes left over, is malformed', () => {
  fc.assert(
    fc.property(batch, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (message, share) => {
      const encoded = encode('RowBatch', message);
      const cut = encoded.subarray(0, Math.floor(encoded.length * share));
      expect(() => decode(cut, ['RowBatch'])).toThrow(MalformedMessage);
      expect(() => decode(Buffer.concat([encoded, Buffer.of(0)]), ['RowBatch'])).toThrow(MalformedMessage);
    }),
  );
});
