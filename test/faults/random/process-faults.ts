/** Faults of the service's processes and of the storage. Each fault injects itself, undoes itself and logs what it did. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault as StorageFault } from '../../sources/faulty-proxy.ts';
import type { Managed } from '../../support/processes.ts';
import { type FaultPoint, faultPoints } from '../support/points.ts';
import type { NamedFault, Scene } from './scene.ts';

const { api: apiPoints, ...stages } = faultPoints;
const pipelinePoints: FaultPoint[] = Object.values(stages).flat();

/** Reserves a process that no other fault uses while `work` runs. */
async function withProcess(scene: Scene, part: 'api' | 'pipeline', work: (one: Managed) => Promise<void>) {
  const all = part === 'api' ? scene.service.apis : scene.service.pipelines;
  const free = all.filter(({ url, running }) => running && !scene.busy.has(url));
  if (free.length === 0) return;
  const one = scene.random.pick(free);
  scene.busy.add(one.url);
  await work(one).finally(() => scene.busy.delete(one.url));
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
      // Some fault points are reached late, and some only if an audience is cleared.
      await Promise.race([one.gone(), sleep(15_000)]);
      const died = !one.running;
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

export const processFaults: NamedFault[] = [
  { name: 'pipeline killed', weight: 6, run: killed('pipeline') },
  { name: 'pipeline killed at a point', weight: 6, run: killedAtPoint('pipeline') },
  { name: 'pipeline frozen', weight: 4, run: frozen('pipeline', 14_000) },
  { name: 'pipeline restarted', weight: 2, run: restarted('pipeline') },
  { name: 'api killed', weight: 4, run: killed('api') },
  { name: 'api killed at a point', weight: 3, run: killedAtPoint('api') },
  { name: 'api frozen', weight: 1, run: frozen('api', 8_000) },
  { name: 'api restarted', weight: 1, run: restarted('api') },
  { name: 'storage in trouble', weight: 3, run: storageStorm },
];
