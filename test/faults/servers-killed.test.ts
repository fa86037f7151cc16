/**
 * The broker and mongod, killed with -9 and started again, or frozen and thawed, in the middle of jobs. A short round kills one of them
 * and freezes the other; FAULT_PAUSE_MS=40000 does both to both, and freezes for longer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { roundSeed } from './support/random.ts';
import { type OwnServers, type ServerName, startOwnServers } from './support/servers.ts';
import { type FaultService, startFaultService } from './support/service.ts';
import { violationsOf } from './support/settle.ts';

const random = roundSeed('servers-killed');
/** Past the session timeout of ten seconds, so that the groups are dealt anew. */
const pauseMs = Number(process.env.FAULT_PAUSE_MS ?? 12_000);

let servers: OwnServers;
let service: FaultService;
beforeAll(async () => {
  servers = await startOwnServers();
  service = await startFaultService(servers.addresses, {
    logs: servers.logs,
    random: random.fork(),
    more: { HEADRACE_THREADS: '2' },
  });
});
afterAll(async () => {
  await service?.close();
  await servers?.close();
});

const allFaults: [string, ServerName, () => Promise<void>][] = (['kafka', 'mongod'] as const).flatMap(
  (server) => [
    [
      `${server} killed with -9 and started again`,
      server,
      async () => {
        servers.signal(server, 'SIGKILL');
        await servers.revive();
      },
    ],
    [
      `${server} frozen for ${pauseMs / 1_000} s`,
      server,
      async () => {
        servers.signal(server, 'SIGSTOP');
        await sleep(pauseMs);
        servers.signal(server, 'SIGCONT');
      },
    ],
  ],
);

const [killKafka, freezeKafka, killMongod, freezeMongod] = allFaults;
const oneOfEach = random.pick([
  [killKafka!, freezeMongod!],
  [killMongod!, freezeKafka!],
]);
const faults = process.env.FAULT_PAUSE_MS === undefined ? oneOfEach : allFaults;

it.each(faults)(
  '%s: every job ends as the oracle says, without a restart of ours',
  {
    timeout: 120_000 + pauseMs,
  },
  async (_name, _server, fault) => {
    const load = service.load();
    await service.answered(6);
    await sleep(random.below(500));
    await fault();
    await service.answered(4);
    await load.stop();
    expect(await violationsOf(service.driver, service.lanes, { swept: false })).toEqual([]);
    expect([...service.apis, ...service.pipelines].every(({ running }) => running)).toBe(true);
  },
);
