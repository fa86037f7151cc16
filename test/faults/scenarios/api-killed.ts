/**
 * kill -9 of the API between its write, its publish and its response, and at random moments under load: every accepted request is a
 * job that ends, and a request repeated with the same key is one job. Three fault points per round; FAULT_POINTS=all takes all.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { it } from 'vitest';
import type { Managed } from '../../support/processes.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { FaultFixture } from '../support/fixture.ts';
import type { Lane } from '../support/lane.ts';
import { type FaultPoint, faultPoints, pointsOf } from '../support/points.ts';
import type { Random } from '../support/random.ts';

/** Sends one request of every kind, repeatedly. */
async function askAround(lane: Lane, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const { id } = await lane.ask({ kind: 'create', path: await lane.upload('audience', 50) });
    await lane.ask({ kind: 'append', audience: id!, path: await lane.upload('audience', 50) });
    await lane.ask({
      kind: 'import',
      path: await lane.upload('attributes', 50),
      compressed: null,
      own: true,
    });
    await lane.ask({ kind: 'delete', attributes: [lane.attributes[0]!] });
    await lane.ask({ kind: 'clear', audience: id! });
  }
}

export function apiKilled(faults: FaultFixture, random: Random): void {
  const points = pointsOf(faultPoints.api, () => random.some<FaultPoint>(faultPoints.api, 3));

  it(`dies at ${points.join(', ')}; no request is lost or done twice`, async () => {
    const [api, other] = faults.service.apis as [Managed, Managed];
    let over = false;
    await Promise.all([api.stop(), other.stop()]);
    const asking = Promise.all(faults.service.lanes.map((lane) => askAround(lane, () => over)));
    for (const point of points) {
      api.start({ FAULT_POINT: `${point}:${1 + random.below(3)}:kill` });
      await api.gone();
    }
    api.start();
    over = true;
    await asking;
    other.start();
    await Promise.all([api.ready(), other.ready()]);
  });

  it('dies at any moment under load; no request is lost or done twice', async () => {
    const [api] = faults.service.apis as [Managed];
    const load = faults.service.load({ pauseMs: 0 });
    for (let kills = 0; kills < 3; kills++) {
      await faults.service.answered(5);
      await sleep(random.below(300));
      await api.kill();
      const { unanswered } = faults.service.counts;
      await waitFor(() => faults.service.counts.unanswered > unanswered, {
        what: 'a request that it misses',
      });
      api.start();
    }
    await load.stop();
  });
}
