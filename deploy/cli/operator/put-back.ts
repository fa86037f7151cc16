/**
 * Tracks which dead letters were republished: all before the committed offset of a consumer group, and ranges after it, stored as the
 * offset's metadata. An empty group keeps its offsets for longer than the topic keeps its letters.
 */

import { asking, findTopics, withCluster } from '../../../pipeline/kafka/cluster.ts';
import { commitOffset, committedOffsets } from '../../../pipeline/kafka/offsets.ts';
import { groupName, topicName } from '../../../pipeline/kafka/topics.ts';
import type { Logger } from '../../../pipeline/runtime/log.ts';
import type { OperatorConfig } from '../../../schemas/config.ts';

/** The broker's limit (offset.metadata.max.bytes: 4096). A range cut off here is republished twice, which is harmless. */
const MAX_METADATA = 4_000;

type Range = [first: bigint, last: bigint];
const parse = (metadata: string): Range[] =>
  [...metadata.matchAll(/\b(\d+)-(\d+)/g)].map(([, first, last]) => [BigInt(first!), BigInt(last!)]);

export interface PutBack {
  /** All letters before this offset were republished. */
  before(): bigint;
  has(offset: bigint): boolean;
  /** Call it in offset order, then `save`. */
  add(offset: bigint): void;
  leave(offset: bigint): void;
  save(): Promise<void>;
}

export function createPutBack(config: OperatorConfig, log: Logger): Promise<PutBack> {
  const name = topicName(config, 'deadLetters');
  const group = groupName(config, 'dead-letters');
  return withCluster(config, log, async (cluster) => {
    await findTopics(cluster, [name]);
    const committed = await asking(cluster, () => committedOffsets(cluster, group, name));
    const { offset: start = 0n, metadata = '' } = committed.get(0) ?? {};
    const ranges = parse(metadata);
    let firstLeft: bigint | undefined;
    let next = start;

    function add(offset: bigint): void {
      next = offset + 1n;
      const last = ranges.find(([, end]) => end + 1n === offset);
      if (last) last[1] = offset;
      else ranges.push([offset, offset]);
    }

    return {
      before: () => start,
      has: (offset) => ranges.some(([first, last]) => first <= offset && offset <= last),
      add,
      leave(offset) {
        firstLeft ??= offset;
        next = offset + 1n;
      },
      save: () =>
        withCluster(config, log, async (again) => {
          const ended = ranges.reduce((end, [, last]) => (last >= end ? last + 1n : end), next);
          const offset = firstLeft ?? ended;
          const behind = ranges
            .filter(([first]) => first > offset)
            .map(([first, last]) => `${first}-${last}`)
            .join(' ');
          const at = { partition: 0, offset: String(offset), metadata: behind.slice(0, MAX_METADATA) };
          await findTopics(again, [name]);
          await asking(again, () => commitOffset(again, group, name, at));
        }),
    };
  });
}
