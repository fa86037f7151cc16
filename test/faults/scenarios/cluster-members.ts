/**
 * Three brokers and three replica set members, of which one at a time is killed, frozen, partitioned, restarted or made to step
 * down while two pipelines work. A short round kills a leader and the primary at once, makes the next primary step down, and adds
 * one more fault; CLUSTER_ROUNDS=3 does everything three times.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { it } from 'vitest';
import { busiestBroker, untilInSync, untilLeadsNothing, untilPreferredLead } from '../support/brokers.ts';
import { setUpFaults } from '../support/fixture.ts';
import { primaryOf, stepDown } from '../support/members.ts';
import type { Random } from '../support/random.ts';
import type { BrokerName, OwnServers } from '../support/servers.ts';

const isLong = process.env.CLUSTER_ROUNDS !== undefined;
const rounds = Number(process.env.CLUSTER_ROUNDS ?? 1);
/** Long enough for several of a client's attempts to fail. */
const CUT_MS = 6_000;

export function clusterMembers(on: () => OwnServers, random: Random): void {
  const faults = setUpFaults(random, { on, pipelines: 2 });
  const config = () => faults.service.driver.config;

  /** Harms the broker that leads most partitions, and waits until any next broker may fail without the loss of a majority. */
  async function harmLeader(harm: (broker: BrokerName) => Promise<void>): Promise<void> {
    await harm(await busiestBroker(config()));
    await untilInSync(config());
  }

  const killLeader = () =>
    harmLeader(async (broker) => {
      faults.servers.signal(broker, 'SIGKILL');
      await untilLeadsNothing(config(), broker);
      await faults.servers.revive([broker]);
    });

  async function killPrimary(): Promise<void> {
    const { servers } = faults;
    const primary = await primaryOf(servers);
    servers.signal(primary, 'SIGKILL');
    await primaryOf(servers);
    await servers.revive([primary]);
  }

  const more: Record<string, () => Promise<unknown>> = {
    'a broker frozen past its session': () =>
      harmLeader(async (broker) => {
        faults.servers.signal(broker, 'SIGSTOP');
        await untilLeadsNothing(config(), broker);
        faults.servers.signal(broker, 'SIGCONT');
      }),
    'a broker cut off': () =>
      harmLeader(async (broker) => {
        faults.servers.proxyOf(broker).cut();
        await sleep(CUT_MS);
        faults.servers.proxyOf(broker).join();
      }),
    'a rolling restart of all brokers': async () => {
      for (const broker of faults.servers.brokers) {
        faults.servers.signal(broker, 'SIGTERM');
        await faults.servers.revive([broker]);
        await untilInSync(config());
      }
    },
  };
  const all: [string, () => Promise<unknown>][] = [
    ['a leader and the primary killed at once', () => Promise.all([killLeader(), killPrimary()])],
    [
      'preferred leaders elected, a step-down of the primary',
      () => Promise.all([untilPreferredLead(config()), stepDown(faults.servers)]),
    ],
    ...(isLong ? Object.entries(more) : random.some(Object.entries(more), 1)),
  ];

  it(`${all.map(([name]) => name).join(', ')}: every job ends as the oracle says`, {
    timeout: 2_700_000 + rounds * all.length * 180_000,
  }, async () => {
    const { service } = faults;
    const load = service.load();
    await service.answered(6);
    for (let round = 0; round < rounds; round++)
      for (const [, fault] of all) {
        await fault();
        await service.answered(2);
      }
    await load.stop();
    await faults.expectExact();
    faults.expectAllRunning();
  });
}
