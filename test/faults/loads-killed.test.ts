/**
 * kill -9 of the pipeline around the end of loads: what each brought that was new stays exact, however often it is ended. The points
 * are taken one after the other, each by a process that has to go on where the last one died.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FaultPoint } from '../../pipeline/runtime/fault-points.ts';
import type { Driver } from '../support/driver.ts';
import { servers, waitFor } from '../support/stack.ts';
import { connectDriver } from './support/connect.ts';
import { expelAll } from './support/expel.ts';
import { createLane, type Lane } from './support/lane.ts';
import { newLogFolder } from './support/logs.ts';
import { orderAt } from './support/points.ts';
import { type Managed, manage, settingsFor } from './support/processes.ts';
import { roundSeed } from './support/random.ts';
import { untilAllEnded, violationsOf } from './support/settle.ts';
import { submitByDriver } from './support/submit.ts';

const random = roundSeed('loads-killed');
const points: FaultPoint[] = [
  'dispatch:after-seal',
  'dispatch:before-number-events',
  'dispatch:after-number-events',
  'dispatch:after-markers',
  'sink:after-merge',
  'sink:after-ack',
  'dispatch:before-audience',
  'dispatch:after-audience',
  'dispatch:before-end',
  'dispatch:after-end',
  'dispatch:after-forget',
];

let driver: Driver;
let pipeline: Managed;
let lane: Lane;
beforeAll(async () => {
  const settings = settingsFor(servers());
  driver = await connectDriver(settings);
  pipeline = await manage('pipeline', settings, newLogFolder());
  lane = await createLane(driver, submitByDriver(driver), random.fork());
});
afterAll(async () => {
  await pipeline?.kill();
  await driver?.close();
});

/** Loads that overlap, of two audiences in turn: the files of a lane share their devices. */
async function queueSome(audiences: number[]): Promise<void> {
  for (const audience of [...audiences, ...audiences])
    await lane.ask({ kind: 'append', audience, path: await lane.upload('audience', 400) });
}

it('dies at each point, and every load says what it brought, as the oracle does', async () => {
  const audiences: number[] = [];
  for (let i = 0; i < 2; i++) {
    const { id } = await lane.ask({ kind: 'create', path: await lane.upload('audience', 2_000) });
    audiences.push(id!);
  }
  for (const point of points) {
    await queueSome(audiences);
    pipeline.start({ FAULT_POINT: orderAt(point, 'kill') });
    await waitFor(() => !pipeline.running, { what: `a death at ${point}` });
    await expelAll(driver.config);
  }
  await lane.ask({ kind: 'clear', audience: audiences[0]! });
  await queueSome(audiences);
  pipeline.start();
  await untilAllEnded(driver);
  expect(await violationsOf(driver, [lane], { swept: false })).toEqual([]);
});
