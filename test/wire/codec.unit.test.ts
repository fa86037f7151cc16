/** The topics' encoding: standard Avro for every reader, byte for byte, and a MalformedMessage for any garbage. */
import avro from 'avsc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode, MalformedMessage, wireHeader } from '../../pipeline/wire/codec.ts';
import { decodeGroups, encodeGroups } from '../../pipeline/wire/device-groups.ts';
import {
  type AcceptedJob,
  MAX_SLOTS,
  type MessageName,
  messages,
  type ValidatedDevices,
} from '../../schemas/topics.ts';
import { toHex } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';

const HEADER = 5;
/** avsc's range. */
const long = fc.nat({ max: Number.MAX_SAFE_INTEGER - 1 });
const int = fc.nat();
const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const devices = (most: number) =>
  fc.nat({ max: most }).chain((count) => fc.uint8Array({ minLength: 16 * count, maxLength: 16 * count }));
const groupsOf = (most: number) =>
  fc.array(fc.record({ key: text, devices: devices(most) }), { maxLength: 5 }).map(encodeGroups);
const validated: fc.Arbitrary<ValidatedDevices> = fc.record(
  {
    job: long,
    file: int,
    batch: int,
    slot: fc.nat({ max: MAX_SLOTS - 1 }),
    part: int,
    groups: groupsOf(70),
    more: fc.array(fc.record({ file: int, batch: int, groups: groupsOf(3) }), { minLength: 1, maxLength: 5 }),
  },
  { requiredKeys: ['job', 'file', 'batch', 'slot', 'part', 'groups'] },
);

/** avsc's form: an array of arrays of Buffers. */
const groupsType = avro.Type.forSchema(messages.ValidatedDevices.fields.groups.schema as avro.Schema);
const pieces = (groups: Buffer) => groupsType.fromBuffer(groups) as { key: string; devices: Buffer[] }[];
const inPieces = ({ more = [], groups, ...message }: ValidatedDevices) => ({
  ...message,
  groups: pieces(groups),
  more: more.map((other) => ({ ...other, groups: pieces(other.groups) })),
});
/** Independent of how the arrays are cut into blocks. */
const inHex = (groups: Buffer) =>
  pieces(groups).map((group) => ({ ...group, devices: group.devices.map((one) => one.toString('hex')) }));
const plain = ({ more = [], groups, ...message }: ValidatedDevices) => ({
  ...message,
  groups: inHex(groups),
  more: more.map((other) => ({ ...other, groups: inHex(other.groups) })),
});
const pairsIn = (groups: Buffer) =>
  decodeGroups(groups).flatMap(({ key, devices: packed }) => toHex(packed).map((device) => [key, device]));
const decoded = (bytes: Buffer) => plain(decode(bytes, ['ValidatedDevices']).value as ValidatedDevices);
const type = avro.Type.forSchema(messages.ValidatedDevices.schema);

describe('ValidatedDevices, encoded by hand', () => {
  it('is byte for byte what avsc writes', () => {
    fc.assert(
      fc.property(validated, (message) => {
        const encoded = encode('ValidatedDevices', message);
        expect(encoded.subarray(0, HEADER)).toEqual(wireHeader('ValidatedDevices'));
        expect(encoded.subarray(HEADER).equals(type.toBuffer(inPieces(message)))).toBe(true);
      }),
    );
  });

  it('comes back as it was, and is read by avsc', () => {
    fc.assert(
      fc.property(validated, (message) => {
        const encoded = encode('ValidatedDevices', message);
        expect(decoded(encoded)).toEqual(plain(message));
        expect(type.isValid(type.fromBuffer(encoded.subarray(HEADER)))).toBe(true);
        expect(
          type.toBuffer(type.fromBuffer(encoded.subarray(HEADER))).equals(encoded.subarray(HEADER)),
        ).toBe(true);
      }),
    );
  });

  it('is read in whatever blocks another writer puts its arrays', () => {
    const blockSizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(validated, blockSizes, fc.boolean(), (message, sizes, withSizes) => {
        const bytes = inBlocks(message, sizes, withSizes);
        expect(decoded(bytes)).toEqual(plain(message));
        const { groups } = decode(bytes, ['ValidatedDevices']).value as ValidatedDevices;
        expect(pairsIn(groups)).toEqual(pairsIn(message.groups));
      }),
    );
  });

  it('cut short anywhere, or with a byte too many, is malformed', () => {
    fc.assert(
      fc.property(validated, fc.nat(), (message, place) => {
        const encoded = encode('ValidatedDevices', message);
        const cut = encoded.subarray(0, place % encoded.length);
        expect(() => decode(cut, ['ValidatedDevices'])).toThrow(MalformedMessage);
        expect(() => decode(Buffer.concat([encoded, Buffer.of(0)]), ['ValidatedDevices'])).toThrow(
          MalformedMessage,
        );
      }),
    );
  });

  it('with a slot that there is not is malformed', () => {
    const message = { job: 1, file: 0, batch: 0, slot: MAX_SLOTS, part: 0, groups: encodeGroups([]) };
    expect(() => decode(encode('ValidatedDevices', message), ['ValidatedDevices'])).toThrow(MalformedMessage);
  });
});

/** Avro's other array encodings: several blocks, each with its count, or with its negated count and its size. */
function inBlocks(message: ValidatedDevices, sizes: number[], withSizes: boolean): Buffer {
  const varint = (value: number): Buffer => {
    const bytes: number[] = [];
    let rest = value < 0 ? -BigInt(value) * 2n - 1n : BigInt(value) * 2n;
    for (; rest >= 128n; rest /= 128n) bytes.push(Number(rest % 128n) + 128);
    return Buffer.from([...bytes, Number(rest)]);
  };
  const array = (items: Buffer[]): Buffer => {
    const parts: Buffer[] = [];
    for (let at = 0, turn = 0; at < items.length; turn++) {
      const block = items.slice(at, at + sizes[turn % sizes.length]!);
      const body = Buffer.concat(block);
      parts.push(
        ...(withSizes ? [varint(-block.length), varint(body.length)] : [varint(block.length)]),
        body,
      );
      at += block.length;
    }
    return Buffer.concat([...parts, varint(0)]);
  };
  const { job, file, batch, slot, part } = message;
  const groupsInBlocks = (groups: ReturnType<typeof pieces>) =>
    array(
      groups.map((group) => {
        const key = Buffer.from(group.key);
        return Buffer.concat([varint(key.length), key, array(group.devices)]);
      }),
    );
  const { groups, more } = inPieces(message);
  const others = more.map((other) =>
    Buffer.concat([varint(other.file), varint(other.batch), groupsInBlocks(other.groups)]),
  );
  const numbers = [job, file, batch, slot, part].map(varint);
  return Buffer.concat([wireHeader('ValidatedDevices'), ...numbers, groupsInBlocks(groups), array(others)]);
}

const job: fc.Arbitrary<AcceptedJob> = fc.record({
  job: long,
  kind: fc.constantFrom('import', 'delete', 'audience'),
  partner: text,
  file_path: text,
  path_type: fc.nat({ max: 1 }),
  key_type: fc.option(fc.nat({ max: 1 })),
  compressed: fc.option(fc.boolean()),
  keys: fc.array(text),
  audience: fc.option(long),
  generation: fc.option(int),
  accepted_at: long,
});

describe('every message', () => {
  it('comes back as it was', () => {
    fc.assert(
      fc.property(job, (value) => {
        expect(decode(encode('AcceptedJob', value), ['AcceptedJob'])).toMatchObject({
          name: 'AcceptedJob',
          value,
        });
      }),
    );
  });

  it('cut short is malformed', () => {
    fc.assert(
      fc.property(job, fc.nat(), (value, place) => {
        const encoded = encode('AcceptedJob', value);
        expect(() => decode(encoded.subarray(0, place % encoded.length), ['AcceptedJob'])).toThrow(
          MalformedMessage,
        );
      }),
    );
  });

  it('of random bytes, behind any header, is malformed or decodes to something of its type', () => {
    const names = Object.keys(messages) as MessageName[];
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.uint8Array({ maxLength: 200 }), (name, bytes) => {
        try {
          const found = decode(Buffer.concat([wireHeader(name), bytes]), names);
          expect(found.name).toBe(name);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('of another topic, of an unknown schema, without a header or without a value is malformed', () => {
    const encoded = encode('JobMarker', markerOf({ job: 1 }));
    expect(decode(encoded, ['ValidatedDevices', 'JobMarker']).name).toBe('JobMarker');
    for (const bytes of [encoded, Buffer.of(0, 0, 0, 0, 99, 1), Buffer.of(1, 0, 0, 0, 5), Buffer.of(0), null])
      expect(() => decode(bytes, ['AcceptedJob'])).toThrow(MalformedMessage);
  });

  it('has a number of its own', () => {
    const numbers = Object.values(messages).flatMap((message) => [
      message.id,
      ...('earlier' in message ? message.earlier.map(({ id }) => id) : []),
    ]);
    expect(new Set(numbers).size).toBe(numbers.length);
  });
});

it('a forged array of 2^40 items is refused at once', () => {
  const body = Buffer.concat([
    Buffer.of(2, 0, 0),
    Buffer.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01),
    Buffer.alloc(3),
  ]);
  const marker = Buffer.concat([wireHeader('JobMarker'), body]);
  const began = performance.now();
  expect(() => decode(marker, ['JobMarker'])).toThrow(MalformedMessage);
  expect(performance.now() - began).toBeLessThan(30_000);
});
