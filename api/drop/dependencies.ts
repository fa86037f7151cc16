/** Dependencies of a DROP session. */
import type { DeviceSets } from '../../pipeline/sets/device-sets.ts';
import type { DropStore } from '../stores/drop.ts';
import type { Erasure } from './create-erasure.ts';
import type { DropPlatform } from './platform.ts';

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
