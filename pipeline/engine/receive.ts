/** Turns fetched messages into deliveries. A message that cannot be decoded goes to the dead-letter topic. */
import { type MessageName, topics } from '../../schemas/topics.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import type { Logger } from '../runtime/log.ts';
import { childOf, isTraced } from '../runtime/traces.ts';
import { decode, encode, MalformedMessage } from '../wire/codec.ts';
import type { Retry } from './retry.ts';
import type { Delivery, Stage } from './stage.ts';
import type { Step } from './step.ts';

/** A message as fetched from the broker. */
export interface FetchedMessage {
  key: Buffer | null;
  value: Buffer | null;
  offset: string;
  timestamp: string;
  headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined> | undefined;
}

export interface Received {
  raw: FetchedMessage;
  decoded: Delivery | MalformedMessage;
}

interface Dependencies {
  log: Logger;
  retry: Retry;
  /** Name of the stage's input topic. */
  topic: string;
  publisher: {
    send(
      topic: 'deadLetters',
      messages: { partition: number; key: string; value: Buffer }[],
    ): Promise<unknown>;
  };
  onDeadLetter(): void;
}

/** Limits what is handled concurrently per partition. */
const AT_ONCE = { bytes: 1_000_000, count: 64 };
const MAX_DEAD_BYTES = 900_000;

export function createReceive(stage: Stage, { log, retry, topic, publisher, onDeadLetter }: Dependencies) {
  const expected: readonly MessageName[] = topics[stage.input].holds;

  function receive(partition: number, raw: FetchedMessage, step: Step): Received {
    try {
      const message = decode(raw.value, expected);
      const offset = BigInt(raw.offset);
      return { raw, decoded: { partition, offset, message, step, ...traceOf(stage.name, partition, raw) } };
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      return { raw, decoded: error };
    }
  }

  async function bury(
    partition: number,
    raw: FetchedMessage,
    { message: error }: Error,
    signal: AbortSignal,
  ) {
    const { offset, key } = raw;
    log.error({ partition, offset, reason: error }, 'malformed message moved to the dead-letter topic');
    onDeadLetter();
    const value = encode('DeadLetter', {
      topic,
      partition,
      offset,
      error,
      key,
      value: (raw.value ?? Buffer.alloc(0)).subarray(0, MAX_DEAD_BYTES),
      at: Date.now(),
    });
    const send = () => publisher.send('deadLetters', [{ partition: 0, key: topic, value }]);
    await retry('publish a dead letter', send, signal);
  }

  const weigh = ({ decoded }: Received) =>
    stage.handle && !(decoded instanceof MalformedMessage) ? stage.weigh(decoded.message) : 0;

  return {
    /** Groups the messages of a batch as the stage handles them. */
    groups(partition: number, messages: FetchedMessage[], step: Step): Iterable<Received[]> {
      const received = messages.map((message) => receive(partition, message, step));
      return stage.handleAll ? [received] : inGroups(received, within(AT_ONCE, weigh));
    },

    async deliveries(partition: number, received: Received[], signal: AbortSignal): Promise<Delivery[]> {
      const deliveries: Delivery[] = [];
      for (const { raw, decoded } of received) {
        if (decoded instanceof MalformedMessage) await bury(partition, raw, decoded, signal);
        else deliveries.push(decoded);
      }
      return deliveries;
    },
  };
}

/** The span id is derived from the offset, so a redelivered message keeps its span. */
function traceOf(stage: string, partition: number, { headers, offset }: FetchedMessage) {
  const parent = headers?.traceparent?.toString();
  return isTraced(parent)
    ? { trace: { parent, context: childOf(parent, `${stage} ${partition} ${offset}`) } }
    : {};
}
