/** Dependencies of a DROP session. */
import type { DeviceSets } from '../../pipeline/sets/device-sets.ts';
import type { DropStore } from '../stores/drop.ts';
import type { DropPlatform } from './platform.ts';

/** The suppression list and the operator's privacy requests. Every method is idempotent. */
export interface Erasure {
  /** Fails unless deletions can be accepted: otherwise the batch must not be opened. */
  requireReady(): Promise<void>;
  /** Adds the digests of a batch to the list. */
  suppress(digests: Uint8Array, batch: number): Promise<void>;
  /** Resolves when every load in flight respects the current list. */
  settle(): Promise<void>;
  /** Removes digests from the list, if DROP sessions added them. */
  restore(digests: Uint8Array): Promise<void>;
  /** Queues the deletion of up to MAX_DEVICES devices as a job, and returns its request id. */
  remove(devices: Uint8Array, batch: number): Promise<number>;
  /** All requests of the batch, including those queued by a session that then crashed. */
  requestsOf(batch: number): Promise<{ id: number; hasFailed: boolean }[]>;
  /** Resolves when all of them have deleted their devices. */
  waitFor(requests: readonly number[]): Promise<void>;
  /** Listed devices that came with later loads: the first 16 bytes of each digest. */
  lateMatches(limit: number): Promise<Uint8Array[]>;
  forgetLateMatches(digests: readonly Uint8Array[]): Promise<void>;
}

/** Per request. */
export const MAX_DEVICES = 50_000;

export interface SessionDeps {
  store: DropStore;
  platform: DropPlatform;
  erasure: Erasure;
  sets: Pick<DeviceSets, 'match'>;
  brokerId: string | undefined;
  /** Prints a message. */
  say(text: string): void;
  /** Prints the progress of a long step. */
  progress(what: string, done: number, of: number): void;
}
