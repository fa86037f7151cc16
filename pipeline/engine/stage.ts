/** The contract between a stage and the consume loop that runs it. */

import type { StageName } from '../../schemas/stages.ts';
import type { TopicKey } from '../../schemas/topics.ts';
import type { Decoded } from '../wire/codec.ts';
import type { Step } from './step.ts';

export interface Delivery<S extends string = string> {
  partition: number;
  offset: bigint;
  message: Decoded;
  /** Span of the handling and its parent, if the job is traced. */
  trace?: { context: string; parent: string };
  /** Aborted when the partition is revoked or the process stops. */
  step: Step<S>;
}

interface StageBase<S extends string> {
  name: StageName;
  input: TopicKey;
  /** The committable offset: everything before it is durable elsewhere. Default: `handled`. */
  committable?(partition: number, handled: bigint): bigint;
  /** Interval of offset commits. Default: 500 ms. */
  commitMs?: number;
  /** Drop in-memory state: it is read again from the committed offsets. The step ends with the assignment. */
  assigned?(partitions: number[], step: Step<S>): void;
  /** Ends work that outlives an assignment. */
  stop?(): Promise<void>;
}

/** `S`: its step names. A stage takes messages one by one (`handle`), or a partition's whole fetch in order (`handleAll`). */
export type Stage<S extends string = string> = StageBase<S> &
  (
    | {
        handle(delivery: Delivery<S>): Promise<void>;
        /** Fails the job of a message that failed repeatedly. */
        giveUp?(delivery: Delivery<S>): Promise<void>;
        /** Bytes of work in a message: small messages are handled concurrently. */
        weigh(message: Decoded): number;
        /** Handled concurrently: a slow message delays no other. The stage limits its own concurrency. */
        isUnordered?: true;
        handleAll?: undefined;
      }
    | {
        handleAll(partition: number, deliveries: Delivery<S>[], step: Step<S>): Promise<void>;
        handle?: undefined;
      }
  );

export type SingleStage = Extract<Stage, { weigh: unknown }>;
