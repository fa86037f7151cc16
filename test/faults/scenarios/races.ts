/** Clears, appends and deletions at random moments of a load, with two processes of each kind. FAULT_ROUNDS sets the rounds. */
import { setTimeout as sleep } from 'node:timers/promises';
import { it } from 'vitest';
import type { FaultFixture } from '../support/fixture.ts';
import type { Lane } from '../support/lane.ts';
import type { Random } from '../support/random.ts';
import { untilAllEnded } from '../support/settle.ts';

const rounds = Number(process.env.FAULT_ROUNDS ?? 2);

async function race(lane: Lane, chance: Random): Promise<void> {
  const wait = () => sleep(chance.below(700));
  for (let i = 0; i < rounds; i++) {
    const { id } = await lane.ask({ kind: 'create', path: await lane.upload('audience', 12_000) });
    const path = await lane.upload('attributes', 6_000);
    await lane.ask({ kind: 'import', path, compressed: null, own: false });
    const later = await lane.upload('audience', 2_000);
    await wait();
    await lane.ask({ kind: 'append', audience: id!, path: later });
    await lane.ask({ kind: 'delete', attributes: [chance.pick(lane.attributes)] });
    await wait();
    await lane.ask({ kind: 'clear', audience: id! });
    await lane.ask({ kind: 'append', audience: id!, path: later });
    await wait();
    await lane.ask({ kind: 'import', path, compressed: null, own: false });
  }
}

export function races(faults: FaultFixture, random: Random): void {
  it('clear, append and delete against a load: what came after the call is there, and nothing else', {
    timeout: 2_700_000 + rounds * 60_000,
  }, async () => {
    await Promise.all(faults.service.lanes.map((lane) => race(lane, random.fork())));
    await untilAllEnded(faults.service.driver);
  });
}
