/** What a stage is to the consumer that runs it. */

import type { StageName } from '../../schemas/stages.ts';
import type { TopicKey } from '../../schemas/topics.ts';
import type { Decoded } from '../wire/codec.ts';
import type { Step } from './step.ts';

export interface Delivery<S extends StageName = StageName> {
  partition: number;
  offset: bigint;
  message: Decoded;
  /** The span of its handling, and the one that it came with; for traced jobs. */
  trace?: { context: string; parent: string };
  /** Ends when the partition is taken away or the process stops. */
  step: Step<S>;
}

interface StageBase<S extends StageName> {
  name: S;
  input: TopicKey;
  /** Up to which offset (exclusive) everything is stored elsewhere. Unless given: all that was handled. */
  committable?(partition: number, handled: bigint): bigint;
  /**
   * The partitions were assigned anew: what was in memory is read again from the committed offsets. The step ends with the
   * assignment.
   */
  assigned?(partitions: number[], step: Step<S>): void;
  /** The process stops. Ends what the stage does beyond an assignment. */
  stop?(): Promise<void>;
}

/**
 * Takes messages one by one, small ones several at the same time; or all of them side by side; or as many as were fetched of a
 * partition, in their order.
 */
export type Stage<S extends StageName = StageName> = StageBase<S> &
  (
    | {
        handle(delivery: Delivery<S>): Promise<void>;
        /** Ends the job of a message that was handled in vain, for the same reason again and again. */
        giveUp?(delivery: Delivery<S>): Promise<void>;
        /** How many bytes a message brings to work on. */
        weigh(message: Decoded): number;
        /** Messages are handled side by side: one that takes long holds up no other. The stage itself limits what it works on. */
        isUnordered?: true;
        handleAll?: undefined;
      }
    | {
        handleAll(partition: number, deliveries: Delivery<S>[], step: Step<S>): Promise<void>;
        handle?: undefined;
      }
  );

export type SingleStage = Extract<Stage, { weigh: unknown }>;
