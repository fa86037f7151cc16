/**
 * kill -9 of the pipeline around the end of loads: each load's number of new devices stays exact, however often its end is
 * repeated. At each fault point, a new process takes over where the last one died. Four points in a short round; FAULT_POINTS=all
 * takes all.
 */
import { it } from 'vitest';
import type { FaultFixture } from '../support/fixture.ts';
import type { FaultPoint } from '../support/points.ts';
import { orderAt, pointsOf } from '../support/points.ts';
import type { Random } from '../support/random.ts';
import { untilAllEnded } from '../support/settle.ts';

const aroundTheEnd: FaultPoint[] = [
  'dispatch:after-decide',
  'dispatch:before-number-events',
  'dispatch:after-number-events',
  'dispatch:after-commit',
  'sink:after-merge',
  'sink:after-ack',
  'dispatch:before-audience',
  'dispatch:after-audience',
  'dispatch:before-end',
  'dispatch:after-end',
  'dispatch:after-forget',
];

export function loadsKilled(faults: FaultFixture, random: Random): void {
  const points = pointsOf(aroundTheEnd, () => random.some(aroundTheEnd, 4));

  /** Overlapping loads of two audiences in turn: the files of a lane share devices. */
  async function queueSome(audiences: number[]): Promise<void> {
    const { lane } = faults;
    for (const audience of [...audiences, ...audiences])
      await lane.ask({ kind: 'append', audience, path: await lane.upload('audience', 400) });
  }

  it(`dies at ${points.length} points around the end of a load`, async () => {
    const { lane } = faults;
    await faults.killPipeline();
    const audiences: number[] = [];
    for (let i = 0; i < 2; i++) {
      const { id } = await lane.ask({ kind: 'create', path: await lane.upload('audience', 2_000) });
      audiences.push(id!);
    }
    for (const point of points) {
      await queueSome(audiences);
      faults.pipeline.start({ FAULT_POINT: orderAt(point, 'kill') });
      await faults.pipeline.gone();
      await faults.killPipeline();
    }
    await lane.ask({ kind: 'clear', audience: audiences[0]! });
    await queueSome(audiences);
    faults.pipeline.start();
    await untilAllEnded(faults.service.driver);
  });
}
