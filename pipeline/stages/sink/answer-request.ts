/**
 * Answers an access request in a slot: the stored data of its devices as JSON, encrypted, in parts that fit into documents, however much
 * is stored. Devices whose data would take too much memory together are answered one after the other.
 */
import { randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import { spaces } from '../../../schemas/documents.ts';
import { canonicalForms } from '../../formats/identifier.ts';
import { seal } from '../../runtime/seal.ts';
import { asBytes, type Devices, slice } from '../../sets/devices.ts';
import type { EventValueStore } from '../../stores/event-values.ts';
import { type AnswerRecord, answerContext, type RequestResultStore } from '../../stores/request-results.ts';
import type { SinkStep } from './steps.ts';

/** The devices of a request in one slot. */
interface AskedDevices {
  job: number;
  slot: number;
  devices: Devices;
}

/** Keys by index of the device, in one space. */
interface FoundKeys {
  space: string;
  found: ReadonlyMap<number, number[]>;
}

interface Dependencies {
  eventValues: Pick<EventValueStore, 'valuesOf'>;
  requestResults: Pick<RequestResultStore, 'find' | 'store' | 'storePart'>;
  secret: Uint8Array;
  /** About this many characters of JSON are gathered at a time. */
  heldChars?: number;
  /** Characters of a part, before escaping, except for a single audience. */
  partChars?: number;
}

const HELD_CHARS = 16_000_000;
/** A character takes up to 6 bytes, if it is escaped. The events of an audience fit into a document however they are escaped. */
const PART_CHARS = 2_000_000;
/** Characters of the JSON of an audience, besides its events, or of an attribute. */
const ENTRY_CHARS = 50;

type Find = (devices: Devices) => AsyncIterable<FoundKeys>;

export function createAnswerRequest(deps: Dependencies) {
  const { eventValues, requestResults, secret, heldChars = HELD_CHARS, partChars = PART_CHARS } = deps;

  /** What a space tells about each device. */
  async function describe({ space, found }: FoundKeys, step: SinkStep) {
    const audience = spaces.parse(space);
    if (!audience) return [...found].map(([n, keys]) => ({ n, attributes: keys, audiences: [] }));
    const values = await step.read('name the events', () =>
      eventValues.valuesOf(audience.audience, audience.generation),
    );
    return [...found].map(([n, keys]) => {
      const events = keys.map((key) => values.get(key) ?? '');
      return { n, attributes: [], audiences: [{ ...audience, events }] };
    });
  }

  /** By index of the device. Undefined: too much at once. */
  async function gather(devices: Devices, find: Find, step: SinkStep) {
    const records = new Map<number, AnswerRecord>();
    const names = canonicalForms(asBytes(devices.words));
    let chars = 0;
    for await (const each of find(devices))
      for (const { n, attributes, audiences } of await describe(each, step)) {
        const record = records.get(n) ?? { identifier: names[n]!, attributes: [], audiences: [] };
        records.set(n, record);
        for (const attribute of attributes) record.attributes.push(attribute);
        record.audiences.push(...audiences);
        chars += charsOf(attributes, audiences);
        if (chars > heldChars) return undefined;
      }
    return records;
  }

  /** A record of much data as several. */
  function* piecesOf({ identifier, attributes, audiences }: AnswerRecord): Generator<AnswerRecord> {
    let piece: AnswerRecord = { identifier, attributes, audiences: [] };
    let chars = charsOf(attributes, []);
    for (const audience of audiences) {
      const more = charsOf([], [audience]);
      if (chars > 0 && chars + more > partChars) {
        yield piece;
        piece = { identifier, attributes: [], audiences: [] };
        chars = 0;
      }
      piece.audiences.push(audience);
      chars += more;
    }
    yield piece;
  }

  /** Records of a device follow each other: one with much data has several (`joinRecords`). */
  async function* recordsOf(devices: Devices, find: Find, step: SinkStep): AsyncGenerator<AnswerRecord> {
    if (devices.count === 1) {
      const [identifier] = canonicalForms(asBytes(devices.words)) as [string];
      for await (const each of find(devices))
        for (const { attributes, audiences } of await describe(each, step))
          yield { identifier, attributes, audiences };
      return;
    }
    const gathered = await gather(devices, find, step);
    if (gathered) {
      for (const record of gathered.values()) yield* piecesOf(record);
      return;
    }
    const middle = devices.count >>> 1;
    yield* recordsOf(slice(devices, 0, middle), find, step);
    yield* recordsOf(slice(devices, middle, devices.count), find, step);
  }

  /** Stores all parts but the last, which it returns. */
  async function writeParts(
    { job, slot }: AskedDevices,
    records: AsyncIterable<AnswerRecord>,
    step: SinkStep,
  ) {
    // Of this writer: a replaced owner may be writing other parts.
    const token = randomBytes(6).toString('base64url');
    const sealPart = (text: string, part?: number) =>
      new Binary(seal(secret, `[${text}]`, answerContext({ job, slot, part })));
    let found = 0;
    let last = '';
    let text = '';
    let parts = 0;
    for await (const record of records) {
      if (record.identifier !== last) found++;
      last = record.identifier;
      const json = JSON.stringify(record);
      if (text !== '' && text.length + json.length > partChars) {
        const part = parts++;
        const sealed = sealPart(text, part);
        await step('keep-result', () => requestResults.storePart({ job, slot, token, part, sealed }));
        text = '';
      }
      text += text === '' ? json : `,${json}`;
    }
    return { found, sealed: sealPart(text), ...(parts > 0 ? { before: { token, parts } } : {}) };
  }

  /** The number of devices found. */
  return async (asked: AskedDevices, find: Find, step: SinkStep): Promise<number> => {
    const { job, slot, devices } = asked;
    const known = await step.read('read what was found', () => requestResults.find(job, slot));
    if (known) return known.found;
    const held = new Set<string>();
    async function* findAndList(some: Devices) {
      for await (const each of find(some)) {
        held.add(each.space);
        yield each;
      }
    }
    const written = await writeParts(asked, recordsOf(devices, findAndList, step), step);
    const result = { job, slot, ...written, spaces: [...held] };
    const { found } = await step('keep-result', () => requestResults.store(result));
    return found;
  };
}

const charsOf = (attributes: number[], audiences: AnswerRecord['audiences']): number =>
  audiences.reduce(
    (sum, { events }) => sum + ENTRY_CHARS + events.reduce((chars, { length }) => chars + length + 3, 0),
    attributes.length * ENTRY_CHARS,
  );
