/**
 * Rolling deployments: every process gets SIGTERM and is restarted, one after the other, while requests arrive and jobs run. And
 * pipelines that join and leave all the time. ROLLING_ROUNDS=10 takes longer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Managed, manage } from '../../support/processes.ts';
import type { FaultFixture } from '../support/fixture.ts';
import { newLogFolder } from '../support/logs.ts';
import type { Random } from '../support/random.ts';
import { untilAllEnded } from '../support/settle.ts';

const rounds = Number(process.env.ROLLING_ROUNDS ?? 1);
const limits = { timeout: 2_700_000 + rounds * 300_000 };

export function rolling(faults: FaultFixture, random: Random): void {
  /** Like a rolling deployment: restarts the next process once the last one is ready. */
  async function roll(processes: readonly Managed[]): Promise<(number | null)[]> {
    const codes: (number | null)[] = [];
    for (const managed of random.some(processes, processes.length)) {
      await sleep(random.below(1_000));
      codes.push(await managed.stop());
      managed.start();
      await managed.ready();
    }
    return codes;
  }

  it(
    'SIGTERM of every API and pipeline in turn: all stop cleanly, and nothing is lost or done twice',
    limits,
    async () => {
      const load = faults.service.load();
      await faults.service.answered(5);
      for (let round = 0; round < rounds; round++) {
        const codes = await Promise.all([roll(faults.service.apis), roll(faults.service.pipelines)]);
        expect(codes.flat(), 'exit codes').toEqual([0, 0, 0, 0]);
      }
      await faults.service.answered(5);
      await load.stop();
      await untilAllEnded(faults.service.driver);
    },
  );

  it('pipelines join and leave every second while jobs run', limits, async () => {
    const load = faults.service.load();
    /**
     * Stopped, killed, or killed before it was ready. A process that stops while the group waits for a killed member may exceed its
     * deadline and exit with 1; nothing is lost, so this exit code is not checked.
     */
    const visit = async (guest: Managed, n: number) => {
      guest.start();
      if (n % 3 < 2) await guest.ready();
      await sleep(random.below(2_000));
      if (n % 3 === 0) await guest.stop();
      else await guest.kill();
    };
    const guests: Managed[] = [];
    const visits: Promise<void>[] = [];
    try {
      for (let n = 0; n < 3 * rounds; n++) {
        const guest = await manage('pipeline', faults.service.settings, { logs: newLogFolder() });
        guests.push(guest);
        visits.push(visit(guest, n));
        await sleep(1_000);
      }
      await Promise.all(visits);
    } finally {
      await Promise.all(guests.map((guest) => guest.kill()));
    }
    await load.stop();
    await untilAllEnded(faults.service.driver);
  });
}
