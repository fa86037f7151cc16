/** What a session with DROP needs. */
import type { DeviceSets } from '../../pipeline/sets/device-sets.ts';
import type { DropStore } from '../stores/drop.ts';
import type { DropPlatform } from './platform.ts';

/** Of the suppression list and of the operator's requests. Everything may be repeated. */
export interface Erasure {
  /** Fails unless deletions can be accepted: a batch that could not be answered must not be opened. */
  requireReady(): Promise<void>;
  /** When it resolves, no load brings the devices of these digests in any more. */
  suppress(digests: Uint8Array): Promise<void>;
  restore(digests: Uint8Array): Promise<void>;
  /** Queues the deletion of up to MAX_DEVICES devices, in the order of jobs, and gives its request. */
  remove(devices: Uint8Array): Promise<string | number>;
  /** Until everything is deleted. */
  waitFor(requests: readonly (string | number)[]): Promise<void>;
  /** Some digests that were listed by a session and that loads have brought since. */
  arrivals(limit: number): Promise<Uint8Array>;
  forgetArrivals(digests: Uint8Array): Promise<void>;
}

/** Of one request. */
export const MAX_DEVICES = 5_000;

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
