/** What the faults of a random run act on. */
import type { FaultyProxy } from '../../sources/faulty-proxy.ts';
import type { Random } from '../support/random.ts';
import type { OwnServers } from '../support/servers.ts';
import type { FaultService } from '../support/service.ts';

export interface Scene {
  service: FaultService;
  servers: OwnServers;
  proxy: FaultyProxy;
  random: Random;
  /** Processes and servers reserved by a fault. */
  busy: Set<string>;
  note(event: string, details?: object): void;
  counts: {
    kills: number;
    freezes: number;
    stops: number;
    elections: number;
    storage: number;
    endedThemselves: number;
    retried: number;
  };
}

export interface NamedFault {
  name: string;
  weight: number;
  run(scene: Scene): Promise<void>;
}

/** Runs `work` unless another fault has reserved the same thing. */
export async function whileFree(scene: Scene, what: string, work: () => Promise<void>): Promise<void> {
  if (scene.busy.has(what)) return;
  scene.busy.add(what);
  await work().finally(() => scene.busy.delete(what));
}

export function pickFault(random: Random, faults: readonly NamedFault[]): NamedFault {
  return random.pick(faults.flatMap((fault) => Array.from({ length: fault.weight }, () => fault)));
}
