import { expect, test } from 'vitest';
import { findWeaknesses } from '../../pipeline/kafka/check-topics.ts';
import { topicSettings } from '../../pipeline/kafka/topics.ts';
import { parseConfig } from '../../schemas/config.ts';
import { readConfigFile } from '../support/env-file.ts';

const config = parseConfig(readConfigFile('reference'));
const asConfigured = new Map(Object.entries(topicSettings(config, 'status')));
const weaknesses = (replicas: number, changed: Record<string, string> = {}) =>
  findWeaknesses(config, 'status', {
    replicas,
    settings: new Map([...asConfigured, ...Object.entries(changed)]),
  });

test('a topic as configured, or safer, is fine', () => {
  expect(weaknesses(3)).toEqual([]);
  expect(weaknesses(4, { 'min.insync.replicas': '3', 'max.message.bytes': '99999999' })).toEqual([]);
  expect(weaknesses(3, { 'cleanup.policy': 'delete,compact' })).toEqual([]);
});

test.each([
  [1, {}, '1 replicas instead of 3 (HEADRACE_REPLICATION_FACTOR)'],
  [3, { 'min.insync.replicas': '1' }, 'min.insync.replicas 1 instead of 2'],
  [3, { 'cleanup.policy': 'delete' }, 'cleanup.policy delete instead of compact,delete'],
  [3, { 'retention.ms': '1000' }, 'retention.ms 1000 instead of 31536000000'],
  [
    3,
    { 'message.timestamp.type': 'CreateTime' },
    'message.timestamp.type CreateTime instead of LogAppendTime',
  ],
  [3, { 'max.message.bytes': '1000' }, 'max.message.bytes 1000 instead of 1900000'],
])('%i replicas and %j: %s', (replicas, changed, message) => {
  expect(weaknesses(replicas, changed)).toEqual([message]);
});
