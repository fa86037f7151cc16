/** The faults of a random run: each does its harm, mends it, and says what it was. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultPoint, faultPoints } from '../../../pipeline/runtime/fault-points.ts';
import type { FaultyProxy, Fault as StorageFault } from '../../sources/faulty-proxy.ts';
import type { Managed } from '../support/processes.ts';
import type { Random } from '../support/random.ts';
import type { OwnServers } from '../support/servers.ts';
import type { FaultService } from '../support/service.ts';

export interface Scene {
  service: FaultService;
  servers: OwnServers;
  proxy: FaultyProxy;
  random: Random;
  /** Processes and servers that a fault is busy with: nobody else touches them. */
  busy: Set<string>;
  note(event: string, details?: object): void;
  counts: { kills: number; freezes: number; stops: number; storage: number; endedThemselves: number };
}

interface NamedFault {
  name: string;
  weight: number;
  run(scene: Scene): Promise<void>;
}

const { api: apiPoints, ...stages } = faultPoints;
const pipelinePoints: FaultPoint[] = Object.values(stages).flat();

/** A process that no other fault has, for as long as the work on it takes. */
async function withProcess(scene: Scene, part: 'api' | 'pipeline', work: (one: Managed) => Promise<void>) {
  const all = part === 'api' ? scene.service.apis : scene.service.pipelines;
  const free = all.filter(({ url, running }) => running && !scene.busy.has(url));
  if (free.length === 0) return;
  const one = scene.random.pick(free);
  scene.busy.add(one.url);
  await work(one).finally(() => scene.busy.delete(one.url));
}

async function withServer(scene: Scene, server: 'kafka' | 'mongod', work: () => Promise<void>) {
  // One server at a time: a start waits for all of them to answer.
  if (scene.busy.has('servers')) return;
  scene.busy.add('servers');
  scene.note('server', { server });
  await work().finally(() => scene.busy.delete('servers'));
}

const killed =
  (part: 'api' | 'pipeline') =>
  (scene: Scene): Promise<void> =>
    withProcess(scene, part, async (one) => {
      scene.note('kill', { part, pid: one.pid });
      scene.counts.kills++;
      await one.kill();
      if (scene.random.chance(0.3)) await sleep(scene.random.below(3_000));
      one.start();
      await one.ready().catch(() => {});
    });

const killedAtPoint =
  (part: 'api' | 'pipeline') =>
  (scene: Scene): Promise<void> =>
    withProcess(scene, part, async (one) => {
      const point = scene.random.pick(part === 'api' ? apiPoints : pipelinePoints);
      await one.stop().catch(() => one.kill());
      one.start({ FAULT_POINT: `${point}:${1 + scene.random.below(4)}:kill` });
      // Not every point is reached at once, and some only by an audience that is cleared.
      const died = await one.gone(15_000).then(
        () => true,
        () => false,
      );
      scene.note('armed', { part, point, died });
      if (!died) await one.kill();
      scene.counts.kills++;
      one.start();
      await one.ready().catch(() => {});
    });

const frozen =
  (part: 'api' | 'pipeline', mostMs: number) =>
  (scene: Scene): Promise<void> =>
    withProcess(scene, part, async (one) => {
      const ms = scene.random.below(mostMs);
      scene.note('freeze', { part, pid: one.pid, ms });
      scene.counts.freezes++;
      one.signal('SIGSTOP');
      await sleep(ms);
      one.signal('SIGCONT');
    });

const restarted =
  (part: 'api' | 'pipeline') =>
  (scene: Scene): Promise<void> =>
    withProcess(scene, part, async (one) => {
      scene.counts.stops++;
      const code = await one.stop().catch(() => one.kill().then(() => 'killed'));
      scene.note('stop', { part, code });
      one.start();
      await one.ready().catch(() => {});
    });

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
  (server: 'kafka' | 'mongod', mostMs: number) =>
  (scene: Scene): Promise<void> =>
    withServer(scene, server, async () => {
      const ms = scene.random.below(mostMs);
      scene.counts.freezes++;
      scene.note('freeze', { server, ms });
      scene.servers.signal(server, 'SIGSTOP');
      await sleep(ms);
      scene.servers.signal(server, 'SIGCONT');
    });

async function storageStorm({ random, proxy, note, counts }: Scene): Promise<void> {
  const kinds: (() => StorageFault)[] = [
    () => ({ kind: 'status', status: 503, code: 'SlowDown' }),
    () => ({ kind: 'reset' }),
    () => ({ kind: random.pick(['cut', 'stall']), after: random.below(100_000) }),
    () => ({ kind: 'pass' }),
  ];
  const storm = Array.from({ length: 3 + random.below(15) }, () => random.pick(kinds)());
  counts.storage += storm.length;
  note('storage', { faults: storm.length });
  proxy.faults.push(...storm);
}

export const faults: NamedFault[] = [
  { name: 'pipeline killed', weight: 6, run: killed('pipeline') },
  { name: 'pipeline killed at a point', weight: 6, run: killedAtPoint('pipeline') },
  { name: 'pipeline frozen', weight: 4, run: frozen('pipeline', 14_000) },
  { name: 'pipeline restarted', weight: 2, run: restarted('pipeline') },
  { name: 'api killed', weight: 4, run: killed('api') },
  { name: 'api killed at a point', weight: 3, run: killedAtPoint('api') },
  { name: 'api frozen', weight: 1, run: frozen('api', 8_000) },
  { name: 'api restarted', weight: 1, run: restarted('api') },
  { name: 'kafka killed', weight: 2, run: serverKilled('kafka') },
  { name: 'kafka frozen', weight: 1, run: serverFrozen('kafka', 40_000) },
  { name: 'mongod killed', weight: 2, run: serverKilled('mongod') },
  { name: 'mongod frozen', weight: 1, run: serverFrozen('mongod', 12_000) },
  { name: 'storage in trouble', weight: 3, run: storageStorm },
];

export function pickFault(random: Random): NamedFault {
  return random.pick(faults.flatMap((fault) => Array.from({ length: fault.weight }, () => fault)));
}
