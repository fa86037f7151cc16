/**
 * Faults of a cluster: one broker and one replica set member at a time, so that a majority stays. A broker counts as back once all
 * replicas are in sync.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { untilInSync } from '../support/brokers.ts';
import { primaryOf, stepDown } from '../support/members.ts';
import type { ServerName } from '../support/servers.ts';
import { type NamedFault, type Scene, whileFree } from './scene.ts';

const inSync = ({ service }: Scene) => untilInSync(service.driver.config);

async function kill(scene: Scene, server: ServerName): Promise<void> {
  scene.counts.kills++;
  scene.note('kill', { server });
  scene.servers.signal(server, 'SIGKILL');
  await sleep(scene.random.below(8_000));
  await scene.servers.revive([server]);
  scene.note('back', { server });
}

async function freeze(scene: Scene, server: ServerName, maxMs: number): Promise<void> {
  const ms = scene.random.below(maxMs);
  scene.counts.freezes++;
  scene.note('freeze', { server, ms });
  scene.servers.signal(server, 'SIGSTOP');
  await sleep(ms);
  scene.servers.signal(server, 'SIGCONT');
  scene.note('back', { server });
}

async function restart(scene: Scene, server: ServerName): Promise<void> {
  scene.counts.stops++;
  scene.note('stop', { server });
  scene.servers.signal(server, 'SIGTERM');
  await scene.servers.revive([server]);
  scene.note('back', { server });
}

/** Runs a fault on one broker, then waits until all replicas are in sync. */
const broker = (scene: Scene, work: (name: ServerName) => Promise<void>) =>
  whileFree(scene, 'brokers', async () => {
    await work(scene.random.pick(scene.servers.brokers));
    await inSync(scene);
  });

/** Runs a fault on one member; on the primary in half of the cases. */
const member = (scene: Scene, work: (name: ServerName) => Promise<void>) =>
  whileFree(scene, 'members', async () => {
    const { servers, random } = scene;
    await work(random.chance(0.5) ? await primaryOf(servers) : random.pick(servers.members));
    await primaryOf(servers);
  });

const rollBrokers = (scene: Scene) =>
  whileFree(scene, 'brokers', async () => {
    for (const name of scene.servers.brokers) {
      await restart(scene, name);
      await inSync(scene);
    }
  });

const electPrimary = (scene: Scene) =>
  whileFree(scene, 'members', async () => {
    scene.counts.elections++;
    scene.note('stepdown', { primary: await stepDown(scene.servers) });
  });

export const clusterFaults: NamedFault[] = [
  { name: 'broker killed', weight: 5, run: (scene) => broker(scene, (name) => kill(scene, name)) },
  { name: 'broker frozen', weight: 2, run: (scene) => broker(scene, (name) => freeze(scene, name, 15_000)) },
  { name: 'rolling restart of the brokers', weight: 1, run: rollBrokers },
  { name: 'member killed', weight: 4, run: (scene) => member(scene, (name) => kill(scene, name)) },
  { name: 'member frozen', weight: 2, run: (scene) => member(scene, (name) => freeze(scene, name, 12_000)) },
  { name: 'primary steps down', weight: 2, run: electPrimary },
];
