/** What a session with DROP needs. */
import type { DeviceSets } from '../../pipeline/sets/device-sets.ts';
import type { DropStore } from '../stores/drop.ts';
import type { DropPlatform } from './platform.ts';

/** Of the suppression list and of the operator's requests. Everything may be repeated. */
export interface Erasure {
  /** Fails unless deletions can be accepted: a batch that could not be answered must not be opened. */
  requireReady(): Promise<void>;
  /** Puts the digests of a batch on the list. */
  suppress(digests: Uint8Array, batch: number): Promise<void>;
  /** When it resolves, no load brings in a device that was listed before. */
  settle(): Promise<void>;
  /** Takes digests from the list, as far as sessions have put them there. */
  restore(digests: Uint8Array): Promise<void>;
  /** Queues the deletion of up to MAX_DEVICES devices, in the order of jobs, and gives its request. */
  remove(devices: Uint8Array, batch: number): Promise<number>;
  /** All requests of the batch, those included that a session queued just before it died. */
  requestsOf(batch: number): Promise<{ id: number; hasFailed: boolean }[]>;
  /** Until everything is deleted. */
  waitFor(requests: readonly number[]): Promise<void>;
  /** Some that were listed by their digests and that loads have brought since: the first 16 bytes of each digest. */
  arrivals(limit: number): Promise<Uint8Array[]>;
  forgetArrivals(digests: readonly Uint8Array[]): Promise<void>;
}

/** Of one request. */
export const MAX_DEVICES = 50_000;

export interface SessionDeps {
  store: DropStore;
  platform: DropPlatform;
  erasure: Erasure;
  sets: Pick<DeviceSets, 'match'>;
  brokerId: string | undefined;
  /** For people. */
  say(text: string): void;
  /** A long step, as far as it is. */
  progress(what: string, done: number, of: number): void;
}
