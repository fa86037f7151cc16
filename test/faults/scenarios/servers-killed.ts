/**
 * The broker and mongod are killed (SIGKILL) and restarted, or frozen and thawed, while jobs run. A short round kills one of them
 * and freezes the other; FAULT_PAUSE_MS=40000 does both to both, with longer freezes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { it } from 'vitest';
import { patient } from '../../support/settings.ts';
import { setUpFaults } from '../support/fixture.ts';
import type { Random } from '../support/random.ts';
import type { OwnServers, ServerName } from '../support/servers.ts';

/** Longer than the session timeout, so that the groups rebalance. */
const pauseMs = Number(process.env.FAULT_PAUSE_MS ?? 1.5 * Number(patient.HEADRACE_SESSION_TIMEOUT_MS));

export function serversKilled(on: () => OwnServers, random: Random): void {
  const faults = setUpFaults(random, { on, more: { HEADRACE_THREADS: '2' } });

  const allFaults: [string, ServerName, () => Promise<void>][] = (['kafka', 'mongod'] as const).flatMap(
    (server) => [
      [
        `${server} killed with -9 and started again`,
        server,
        async () => {
          faults.servers.signal(server, 'SIGKILL');
          await faults.servers.revive();
        },
      ],
      [
        `${server} frozen for ${pauseMs / 1_000} s`,
        server,
        async () => {
          faults.servers.signal(server, 'SIGSTOP');
          await sleep(pauseMs);
          faults.servers.signal(server, 'SIGCONT');
        },
      ],
    ],
  );

  const [killKafka, freezeKafka, killMongod, freezeMongod] = allFaults;
  const oneOfEach = random.pick([
    [killKafka!, freezeMongod!],
    [killMongod!, freezeKafka!],
  ]);
  const chosen = process.env.FAULT_PAUSE_MS === undefined ? oneOfEach : allFaults;

  it.each(chosen)(
    '%s: every job ends as the oracle says, without a restart of ours',
    {
      timeout: 2_700_000 + pauseMs,
    },
    async (_name, _server, fault) => {
      const { service } = faults;
      const load = service.load();
      await service.answered(6);
      await sleep(random.below(500));
      await fault();
      await service.answered(4);
      await load.stop();
      await faults.expectExact();
      faults.expectAllRunning();
    },
  );
}
