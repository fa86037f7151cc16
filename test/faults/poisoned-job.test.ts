/** A job that the service itself fails at, or dies of, ends with `internal_error`; those behind it go on, and nothing of it is stored. */
import { expect, it } from 'vitest';
import type { FaultPoint } from '../../pipeline/runtime/fault-points.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';
import { expelAll } from './support/expel.ts';
import { setUpFaults } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const faults = setUpFaults(roundSeed('poisoned-job'), {
  apis: 0,
  lanes: 0,
  more: { HEADRACE_PARTITIONS: '1' },
});
const poisoned = { status: 3, errors: [{ code: 'internal_error' }], uniqueDevices: 0 };

/** The group need not wait until it misses the dead. */
async function killed(): Promise<void> {
  await faults.service.pipelines[0]!.kill();
  await expelAll(faults.service.driver.config);
}

async function newAudience(rows = 100) {
  const { driver } = faults.service;
  const partner = await driver.partner();
  const devices = ids(rows);
  await driver.upload(partner, 'a.csv', file(devices, 'seen'));
  return { devices, id: await driver.createAudience(partner, 'a.csv') };
}

async function expectOnlySecond(first: number, second: { id: number; devices: string[] }): Promise<void> {
  const { driver } = faults.service;
  expect(await driver.ended(first)).toMatchObject(poisoned);
  expect(await driver.members(setNames.audience(first, 1))).toEqual(new Set());
  expect(await driver.ended(second.id)).toMatchObject({ status: 2 });
  expect(await driver.members(setNames.audience(second.id, 1))).toEqual(asMembers(second.devices));
}

it('three times the same failure, in each stage that prepares a job', async () => {
  const [pipeline] = faults.service.pipelines;
  const points: FaultPoint[] = ['dispatch:before-listing', 'split:before-send', 'validate:before-devices'];
  for (const point of points) {
    await killed();
    // More often than it takes: where a slow machine loses its partition meanwhile, the count begins anew.
    const orders = Array.from({ length: 30 }, (_, before) => `${point}:${before + 1}:fail`);
    pipeline!.start({ FAULT_POINT: orders.join(',') });
    const { id } = await newAudience();
    expect(await faults.service.driver.ended(id)).toMatchObject({
      ...poisoned,
      internalReason: expect.stringMatching(`^${point.split(':')[0]}: .*told to fail`),
    });
  }
  await killed();
  pipeline!.start();
  const first = (await faults.service.driver.jobs.find().sort({ _id: -1 }).limit(1).next())!._id;
  await expectOnlySecond(first, await newAudience());
});

it('a message that process after process dies of', async () => {
  const [pipeline] = faults.service.pipelines;
  await killed();
  const first = await newAudience();
  const isOpen = async () => (await faults.service.driver.jobs.findOne({ _id: first.id }))?.phase !== 'ended';
  let deaths = 0;
  // Armed until it is given up: whoever comes next dies of the same file.
  while (await isOpen()) {
    pipeline!.start({ FAULT_POINT: 'split:before-send:1:kill' });
    await Promise.race([pipeline!.gone(), faults.service.driver.ended(first.id)]);
    if (!pipeline!.running) deaths++;
    if (!pipeline!.running) await expelAll(faults.service.driver.config);
    expect(deaths).toBeLessThan(10);
  }
  await killed();
  pipeline!.start();
  await expectOnlySecond(first.id, await newAudience());
});
