/** Our own encoder must write, byte for byte, what kafkajs writes, or what its decoder reads back. */
import { createRequire } from 'node:module';
import { crc32c } from '@node-rs/crc32';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import '../../pipeline/kafka/patched-kafkajs.ts';
import { encodeProduce } from '../../pipeline/kafka/produce-request.ts';

const require = createRequire(import.meta.url);
const theirCrc = require('kafkajs/src/protocol/recordBatch/crc32C/index.js') as (bytes: Buffer) => number;
const createRequest = require('kafkajs/src/protocol/request.js') as (
  request: object,
) => Promise<{ buffer: Buffer }>;
const Decoder = require('kafkajs/src/protocol/decoder.js');
const decodeBatch = require('kafkajs/src/protocol/recordBatch/v0/decoder.js') as (
  decoder: unknown,
) => Promise<{ records: Record[]; magicByte: number }>;
interface Record {
  key: Buffer | null;
  value: Buffer;
  offset: string;
  headers: { [name: string]: Buffer };
}

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));

describe('crc32c', () => {
  it('equals kafkajs’s own', () => {
    fc.assert(
      fc.property(bytes(300), (sample) => crc32c(sample) === theirCrc(sample)),
      { numRuns: 500 },
    );
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
  });
});

describe('the produce request', () => {
  it('is read back by kafkajs’s decoder: topics, partitions, keys, values, checksums', async () => {
    // Not `constructor`: kafkajs's decoder collects headers in an object that has one.
    const name = fc.stringMatching(/^[a-z]{1,12}$/).filter((text) => !(text in {}));
    const headers = fc.option(fc.dictionary(name, fc.string({ maxLength: 80 })), { nil: undefined });
    const message = fc.record({ key: fc.option(fc.string({ maxLength: 20 })), value: bytes(2_000), headers });
    const partition = fc.record({
      partition: fc.nat(100),
      messages: fc.array(message, { minLength: 1, maxLength: 130 }),
    });
    const topic = fc.record({
      topic: fc.string({ minLength: 1, maxLength: 20 }),
      partitions: fc.array(partition, { minLength: 1, maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(topic, { minLength: 1, maxLength: 2 }), async (topicData) => {
        const payload = encodeProduce(-1, 30_000, topicData);
        const decoder = new Decoder(payload.buffer);
        expect([decoder.readString(), decoder.readInt16(), decoder.readInt32()]).toEqual([null, -1, 30_000]);
        expect(decoder.readInt32()).toBe(topicData.length);
        for (const { topic, partitions } of topicData) {
          expect(decoder.readString()).toBe(topic);
          expect(decoder.readInt32()).toBe(partitions.length);
          for (const { partition, messages } of partitions) {
            expect(decoder.readInt32()).toBe(partition);
            const size = decoder.readInt32();
            const raw = payload.buffer.subarray(decoder.offset, decoder.offset + size);
            expect(raw.readUInt32BE(17)).toBe(theirCrc(raw.subarray(21)));
            const batchDecoder = decoder.slice(size);
            batchDecoder.forward(0);
            const { records } = await decodeBatch(batchDecoder);
            expect(records.map(({ key, value }) => [key?.toString() ?? null, value.toString('hex')])).toEqual(
              messages.map(({ key, value }) => [key, value.toString('hex')]),
            );
            expect(
              records.map(({ headers }) =>
                Object.entries(headers).map(([name, text]) => [name, text.toString()]),
              ),
            ).toEqual(messages.map(({ headers }) => Object.entries(headers ?? {})));
            decoder.forward(size);
          }
        }
        expect(decoder.offset).toBe(payload.buffer.length);
      }),
      { numRuns: 15 },
    );
  });

  it('gets its header written in front of it, in place', async () => {
    const payload = encodeProduce(-1, 1, [
      { topic: 't', partitions: [{ partition: 0, messages: [{ key: 'k', value: Buffer.from('v') }] }] },
    ]);
    const request = { apiKey: 0, apiVersion: 7, encode: async () => payload };
    const { buffer: framed } = await createRequest({ correlationId: 42, clientId: 'headrace', request });
    expect(framed.buffer).toBe(payload.buffer.buffer);
    const decoder = new Decoder(framed);
    expect(decoder.readInt32()).toBe(framed.length - 4);
    expect([decoder.readInt16(), decoder.readInt16(), decoder.readInt32(), decoder.readString()]).toEqual([
      0,
      7,
      42,
      'headrace',
    ]);
    expect(framed.subarray(decoder.offset)).toEqual(payload.buffer);
  });
});
