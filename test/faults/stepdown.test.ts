/** A replica set of three whose primary steps down again and again under load: nothing acknowledged is lost, nothing waits for ever. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { servers } from '../support/stack.ts';
import { stepDown } from './support/members.ts';
import { roundSeed } from './support/random.ts';
import { type OwnServers, startOwnServers } from './support/servers.ts';
import { type FaultService, startFaultService } from './support/service.ts';
import { violationsOf } from './support/settle.ts';

const random = roundSeed('stepdown');
const rounds = Number(process.env.FAULT_ROUNDS ?? 2);

let replicas: OwnServers;
let service: FaultService;
beforeAll(async () => {
  replicas = await startOwnServers({ members: 3, shared: { addresses: servers(), own: ['mongod'] } });
  service = await startFaultService(replicas.addresses, { logs: replicas.logs, random: random.fork() });
});
afterAll(async () => {
  await service?.close();
  await replicas?.close();
});

it(`the primary steps down ${rounds} times under load`, { timeout: 120_000 + rounds * 30_000 }, async () => {
  const load = service.load();
  for (let i = 0; i < rounds; i++) {
    await service.answered(5);
    await stepDown(replicas);
  }
  await service.answered(3);
  await load.stop();
  expect(await violationsOf(service.driver, service.lanes, { swept: false })).toEqual([]);
  expect([...service.apis, ...service.pipelines].every(({ running }) => running)).toBe(true);
});
