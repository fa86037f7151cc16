/** A message as `tap` shows it: decoded, with rows and devices counted, or shown on request. */

import { canonicalForms, IDENTIFIER_BYTES } from '../../../pipeline/formats/identifier.ts';
import type { ReadMessage } from '../../../pipeline/kafka/read-topic.ts';
import { type Decoded, decode, MalformedMessage } from '../../../pipeline/wire/codec.ts';
import { decodeGroups } from '../../../pipeline/wire/device-groups.ts';
import { type MessageName, type TopicKey, topics, type ValidatedDevices } from '../../../schemas/topics.ts';

export interface Shown {
  /** Identifiers in their canonical form. */
  devices?: boolean;
  /** Raw rows; for dead letters, the message in base64. */
  rows?: boolean;
}

export interface Described {
  topic: string;
  partition: number;
  offset: string;
  at: string;
  key: string | null;
  type?: MessageName;
  value?: Record<string, unknown>;
  /** Instead of type and value: why it cannot be decoded. */
  error?: string;
}

/** Undefined if the message violates the contract of its topic. */
export function tryDecode(topic: TopicKey, value: Buffer | null): Decoded | MalformedMessage {
  try {
    return decode(value, topics[topic].holds as readonly MessageName[]);
  } catch (error) {
    if (error instanceof MalformedMessage) return error;
    throw error;
  }
}

export function describeMessage(
  { topic, partition, offset, timestamp, key }: ReadMessage,
  message: Decoded | MalformedMessage,
  shown: Shown = {},
): Described {
  const where = {
    topic: topics[topic].name,
    partition,
    offset,
    at: timestamp.toISOString(),
    key: key?.toString() ?? null,
  };
  if (message instanceof MalformedMessage) return { ...where, error: message.message };
  return { ...where, type: message.name, value: readable(message, shown) };
}

function readable(message: Decoded, shown: Shown): Record<string, unknown> {
  switch (message.name) {
    case 'ValidatedDevices': {
      const { more = [], ...first } = message.value;
      const batch = withDevices(first, shown);
      return more.length > 0 ? { ...batch, more: more.map((one) => withDevices(one, shown)) } : batch;
    }
    case 'RowBatch': {
      const { rows } = message.value;
      return { ...message.value, rows: shown.rows ? linesOf(rows) : `${rows.length} bytes` };
    }
    case 'DeadLetter': {
      const { key, value } = message.value;
      const text = shown.rows ? value.toString('base64') : `${value.length} bytes`;
      return { ...message.value, key: key?.toString() ?? null, value: text };
    }
    default:
      return message.value;
  }
}

const withDevices = (batch: Pick<ValidatedDevices, 'groups'>, { devices: areShown }: Shown) => ({
  ...batch,
  groups: decodeGroups(batch.groups).map(({ key, devices }) => ({
    key,
    devices: areShown ? canonicalForms(devices) : devices.length / IDENTIFIER_BYTES,
  })),
});

function linesOf(rows: Buffer): string[] {
  const lines = rows.toString('utf8').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
