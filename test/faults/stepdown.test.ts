/** A replica set of three whose primary steps down again and again under load: nothing acknowledged is lost, nothing waits for ever. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { servers } from '../support/stack.ts';
import { newLogFolder } from './support/logs.ts';
import { roundSeed } from './support/random.ts';
import { type ReplicaSet, startReplicaSet } from './support/replica-set.ts';
import { type FaultService, startFaultService } from './support/service.ts';
import { violationsOf } from './support/settle.ts';

const random = roundSeed('stepdown');
const rounds = Number(process.env.FAULT_ROUNDS ?? 2);

let replicas: ReplicaSet;
let service: FaultService;
beforeAll(async () => {
  replicas = await startReplicaSet();
  const logs = newLogFolder();
  const addresses = { ...servers(), mongoUrl: replicas.url };
  service = await startFaultService(addresses, { logs, random: random.fork() });
});
afterAll(async () => {
  await service?.close();
  await replicas?.close();
});

it(`the primary steps down ${rounds} times under load`, { timeout: 120_000 + rounds * 30_000 }, async () => {
  const load = service.load();
  for (let i = 0; i < rounds; i++) {
    await service.answered(5);
    await replicas.stepDown();
  }
  await service.answered(3);
  await load.stop();
  expect(await violationsOf(service.driver, service.lanes, { swept: false })).toEqual([]);
  expect([...service.apis, ...service.pipelines].every(({ running }) => running)).toBe(true);
});
