/**
 * A stage's environment that records every call to Kafka and the stores in one log, for tests of a stage's ordered actions. Tests
 * with the real servers show that Kafka and the stores do what they are asked.
 */

import type { Delivery } from '../../pipeline/engine/stage.ts';
import type { OutgoingMessage, Publisher } from '../../pipeline/kafka/publish.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { type Decoded, decode } from '../../pipeline/wire/codec.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import type { StageName } from '../../schemas/stages.ts';
import { type MessageName, type TopicKey, topics } from '../../schemas/topics.ts';
import { recordedStep } from './recorded-step.ts';

export interface Sent {
  topic: TopicKey;
  partition: number;
  message: Decoded;
}

export function recordingEnvironment(stage: StageName) {
  const actions: string[] = [];
  const sent: Sent[] = [];
  const step = recordedStep(stage, actions);
  const send = async (topic: TopicKey, messages: OutgoingMessage[]) => {
    for (const { partition, value } of messages)
      sent.push({ topic, partition, message: decode(value, topics[topic].holds as readonly MessageName[]) });
    return new Map();
  };
  const publisher = { send } as Publisher;
  const deliver = (message: Decoded, offset = 0n): Delivery => ({ partition: 0, offset, message, step });
  return { actions, sent, step, publisher, deliver, log: createLogger({ logLevel: 'silent' }, 'test') };
}

export const aJob = (fields: Partial<JobDocument> = {}): JobDocument => ({
  _id: 7,
  kind: 'audience',
  partner: 'p1',
  phase: 'accepted',
  status: 0,
  filePath: 'a.csv',
  pathType: 0,
  keyType: null,
  compressed: null,
  keys: null,
  attributes: null,
  attributesAsOf: 0,
  audience: 7,
  generation: 1,
  fileCount: 0,
  filesDone: 0,
  rows: 0,
  uniqueDevices: 0,
  errors: null,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  ...fields,
});
