/** Consumer lag of each stage according to the brokers, including stages that are not running. */
import type { Admin } from 'kafkajs';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../schemas/config.ts';
import type { StageName } from '../../schemas/stages.ts';
import { stageInputs } from '../../schemas/topics.ts';
import { cached } from '../runtime/cached.ts';
import type { Logger } from '../runtime/log.ts';
import { later } from './offsets.ts';
import { createKafka, groupName, topicName } from './topics.ts';

/** A stage's progress in a partition: its committed offset, the first unhandled offset, and the end of the partition. */
export interface Position {
  next: bigint;
  handled: bigint;
  end: bigint;
}

export interface LagReader {
  read(): Promise<Map<StageName, number>>;
  /** By partition of the stage's input. Not cached. */
  positionsOf(stage: StageName): Promise<Map<number, Position>>;
  close(): Promise<void>;
}

const KEPT_MS = 5_000;

/** A stage that buffers commits an earlier offset, with the handled one as metadata (group-member.ts). */
const handledIn = (metadata: string | null | undefined) =>
  /^\d+$/.test(metadata ?? '') ? BigInt(metadata!) : 0n;

/** Connects at first use, and asks the brokers at most every five seconds. */
export function createLagReader(config: Config, log: Logger): LagReader {
  const admin: Admin = createKafka(config, log, {
    retry: { retries: 1, initialRetryTime: 100 },
    requestTimeout: 5_000,
  }).admin();

  async function positionsOf(stage: StageName): Promise<Map<number, Position>> {
    await admin.connect();
    const topic = topicName(config, stageInputs.find((input) => input.stage === stage)!.topic);
    // In this order, so that no committed offset is past the end.
    const [committed] = await admin.fetchOffsets({ groupId: groupName(config, stage), topics: [topic] });
    const reached = new Map(committed!.partitions.map((entry) => [entry.partition, entry]));
    const ends = await admin.fetchTopicOffsets(topic);
    return new Map(
      ends.map(({ partition, low, high }) => {
        const { offset = '0', metadata } = reached.get(partition) ?? {};
        const next = later(BigInt(low), BigInt(offset));
        return [partition, { next, handled: later(next, handledIn(metadata)), end: BigInt(high) }];
      }),
    );
  }

  async function lagOf(stage: StageName): Promise<number> {
    let lag = 0n;
    for (const { next, end } of (await positionsOf(stage)).values()) lag += later(0n, end - next);
    return Number(lag);
  }

  const ask = async (): Promise<Map<StageName, number>> =>
    new Map(await Promise.all(stageInputs.map(async ({ stage }) => [stage, await lagOf(stage)] as const)));
  const answers = new LRUCache<'lags', Promise<Map<StageName, number>>>({ max: 1, ttl: KEPT_MS });

  return {
    read: () => cached(answers, 'lags', ask),
    positionsOf,
    close: () => admin.disconnect(),
  };
}
