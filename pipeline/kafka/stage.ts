/** What a stage is to the consumer that runs it. */
import type { Decoded } from '../../schemas/codec.ts';
import type { StageName } from '../../schemas/stages.ts';
import type { TopicKey } from '../../schemas/topics.ts';

export interface Delivery {
  partition: number;
  offset: bigint;
  message: Decoded;
  /** Aborted when the partition is taken away or the process stops. */
  signal: AbortSignal;
}

interface StageBase {
  name: StageName;
  input: TopicKey;
  /** Up to which offset (exclusive) everything is durable. Unless given: all that was handled. */
  durable?(partition: number, handled: bigint): bigint;
  /** The partitions were dealt anew: what was in memory is read again from the committed offsets. */
  assigned?(partitions: number[]): void;
  stop?(): Promise<void>;
}

/** Takes messages one by one, small ones several at the same time; or as many as were fetched of a partition, in their order. */
export type Stage = StageBase &
  (
    | {
        handle(delivery: Delivery): Promise<void>;
        /** Ends the job of a message that was handled in vain, for the same reason again and again. */
        giveUp?(delivery: Delivery): Promise<void>;
        /** How many bytes a message brings to work on. */
        weigh(message: Decoded): number;
        handleAll?: undefined;
      }
    | {
        handleAll(partition: number, deliveries: Delivery[], signal: AbortSignal): Promise<void>;
        handle?: undefined;
      }
  );

export type SingleStage = Extract<Stage, { weigh: unknown }>;
