/** The contract between a stage and the consume loop that runs it. */

import type { StageName } from '../../schemas/stages.ts';
import type { TopicKey } from '../../schemas/topics.ts';
import type { Decoded } from '../wire/codec.ts';
import type { Step } from './step.ts';

export interface Delivery<S extends string = string> {
  partition: number;
  offset: bigint;
  message: Decoded;
  /** The span of its handling, and its parent; for traced jobs. */
  trace?: { context: string; parent: string };
  /** Ends when the partition is revoked or the process stops. */
  step: Step<S>;
}

interface StageBase<S extends string> {
  name: StageName;
  input: TopicKey;
  /** The committable offset: everything before it is durable elsewhere. Unless given: all that was handled. */
  committable?(partition: number, handled: bigint): bigint;
  /** How often offsets are committed. Unless given: 500 ms. */
  commitMs?: number;
  /** Partitions were assigned: what was in memory is read again from the committed offsets. The step ends with the assignment. */
  assigned?(partitions: number[], step: Step<S>): void;
  /** The process stops. Ends what the stage does beyond an assignment. */
  stop?(): Promise<void>;
}

/** `S`: the names of its steps. Takes messages one by one, or all that were fetched of a partition, in order. */
export type Stage<S extends string = string> = StageBase<S> &
  (
    | {
        handle(delivery: Delivery<S>): Promise<void>;
        /** Ends the job of a message that failed repeatedly. */
        giveUp?(delivery: Delivery<S>): Promise<void>;
        /** How many bytes a message brings to work on: small ones are handled concurrently. */
        weigh(message: Decoded): number;
        /** Messages are handled concurrently: a slow one delays no other. The stage itself limits what it works on. */
        isUnordered?: true;
        handleAll?: undefined;
      }
    | {
        handleAll(partition: number, deliveries: Delivery<S>[], step: Step<S>): Promise<void>;
        handle?: undefined;
      }
  );

export type SingleStage = Extract<Stage, { weigh: unknown }>;
