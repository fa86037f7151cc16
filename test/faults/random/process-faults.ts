/** Faults of the service's processes and of the storage. Each fault injects itself, undoes itself and logs what it did. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault as StorageFault } from '../../sources/faulty-proxy.ts';
import type { Managed } from '../../support/processes.ts';
import { type FaultPoint, faultPoints } from '../support/points.ts';
import type { NamedFault, Scene } from './scene.ts';

const { api: apiPoints, ...stages } = faultPoints;
const pipelinePoints: FaultPoint[] = Object.values(stages).flat();

/** Reserves a process that no other fault uses while `work` runs. */
async function withProcess(
  scene: Scene,
  part: 'api' | 'pipeline',
  work: (managed: Managed) => Promise<void>,
) {
  const all = part === 'api' ? scene.service.apis : scene.service.pipelines;
  const free = all.filter(({ url, running }) => running && !scene.busy.has(url));
  if (free.length === 0) return;
  const managed = scene.random.pick(free);
  scene.busy.add(managed.url);
  await work(managed).finally(() => scene.busy.delete(managed.url));
}

const killed =
  (part: 'api' | 'pipeline') =>
  (scene: Scene): Promise<void> =>
    withProcess(scene, part, async (managed) => {
      scene.note('kill', { part, pid: managed.pid });
      scene.counts.kills++;
      await managed.kill();
      if (scene.random.chance(0.3)) await sleep(scene.random.below(3_000));
      managed.start();
      await managed.ready().catch(() => {});
    });

const killedAtPoint =
  (part: 'api' | 'pipeline') =>
  (scene: Scene): Promise<void> =>
    withProcess(scene, part, async (managed) => {
      const point = scene.random.pick(part === 'api' ? apiPoints : pipelinePoints);
      await managed.stop().catch(() => managed.kill());
      managed.start({ FAULT_POINT: `${point}:${1 + scene.random.below(4)}:kill` });
      // Some fault points are reached late, and some only if an audience is cleared.
      await Promise.race([managed.gone(), sleep(15_000)]);
      const died = !managed.running;
      scene.note('armed', { part, point, died });
      if (!died) await managed.kill();
      scene.counts.kills++;
      managed.start();
      await managed.ready().catch(() => {});
    });

const frozen =
  (part: 'api' | 'pipeline', maxMs: number) =>
  (scene: Scene): Promise<void> =>
    withProcess(scene, part, async (managed) => {
      const ms = scene.random.below(maxMs);
      scene.note('freeze', { part, pid: managed.pid, ms });
      scene.counts.freezes++;
      managed.signal('SIGSTOP');
      await sleep(ms);
      managed.signal('SIGCONT');
    });

const restarted =
  (part: 'api' | 'pipeline') =>
  (scene: Scene): Promise<void> =>
    withProcess(scene, part, async (managed) => {
      scene.counts.stops++;
      const code = await managed.stop().catch(() => managed.kill().then(() => 'killed'));
      scene.note('stop', { part, code });
      managed.start();
      await managed.ready().catch(() => {});
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
