/** Faults of a single Kafka and a single mongod: while one of them is down, the whole service waits for it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type NamedFault, type Scene, whileFree } from './scene.ts';

/** One server at a time: a start waits until all of them respond. */
function withServer(scene: Scene, server: 'kafka' | 'mongod', work: () => Promise<void>): Promise<void> {
  return whileFree(scene, 'servers', () => {
    scene.note('server', { server });
    return work();
  });
}

const serverKilled =
  (server: 'kafka' | 'mongod') =>
  (scene: Scene): Promise<void> =>
    withServer(scene, server, async () => {
      scene.counts.kills++;
      scene.servers.signal(server, 'SIGKILL');
      scene.note('kill', { server });
      await sleep(scene.random.below(4_000));
      await scene.servers.revive();
    });

const serverFrozen =
  (server: 'kafka' | 'mongod', maxMs: number) =>
  (scene: Scene): Promise<void> =>
    withServer(scene, server, async () => {
      const ms = scene.random.below(maxMs);
      scene.counts.freezes++;
      scene.note('freeze', { server, ms });
      scene.servers.signal(server, 'SIGSTOP');
      await sleep(ms);
      scene.servers.signal(server, 'SIGCONT');
    });

export const serverFaults: NamedFault[] = [
  { name: 'kafka killed', weight: 2, run: serverKilled('kafka') },
  { name: 'kafka frozen', weight: 1, run: serverFrozen('kafka', 40_000) },
  { name: 'mongod killed', weight: 2, run: serverKilled('mongod') },
  { name: 'mongod frozen', weight: 1, run: serverFrozen('mongod', 12_000) },
];
