/**
 * A poison message: a job that makes a stage fail or crash repeatedly ends with `internal_error`; nothing of it is stored, and the
 * jobs behind it go on. One stage in a short round; FAULT_POINTS=all takes every stage that prepares a job.
 */
import { expect, it } from 'vitest';
import { asMembers, file, ids } from '../../support/rows.ts';
import { setNames } from '../../support/stored-sets.ts';
import type { FaultFixture } from '../support/fixture.ts';
import type { FaultPoint } from '../support/points.ts';
import { pointsOf } from '../support/points.ts';
import type { Random } from '../support/random.ts';

const preparing: FaultPoint[] = ['dispatch:before-listing', 'split:before-send', 'validate:before-devices'];
const poisoned = { status: 3, errors: [{ code: 'internal_error' }], uniqueDevices: 0 };

export function poisonedJob(faults: FaultFixture, random: Random): void {
  const points = pointsOf(preparing, () => random.some(preparing, 1));

  async function newAudience(rows = 100) {
    const { driver } = faults.service;
    const partner = await driver.partner();
    const devices = ids(rows);
    await driver.upload(partner, 'a.csv', file(devices, 'seen'));
    return { devices, id: await driver.createAudience(partner, 'a.csv') };
  }

  const given: number[] = [];

  it(`three times the same failure at ${points.join(', ')}`, async () => {
    for (const point of points) {
      await faults.killPipeline();
      // More failures than needed: a slow machine may lose the partition in between, which restarts the count.
      const orders = Array.from({ length: 30 }, (_, before) => `${point}:${before + 1}:fail`);
      faults.pipeline.start({ FAULT_POINT: orders.join(',') });
      const { id } = await newAudience();
      expect(await faults.service.driver.ended(id)).toMatchObject({
        ...poisoned,
        internalReason: expect.stringMatching(`^${point.split(':')[0]}: .*told to fail`),
      });
      given.push(id);
    }
  });

  it('a message that process after process dies of', async () => {
    await faults.killPipeline();
    const { id } = await newAudience();
    given.push(id);
    const isOpen = async () => (await faults.service.driver.jobs.findOne({ _id: id }))?.phase !== 'ended';
    let deaths = 0;
    // Armed until the message is given up: each next process crashes on the same file.
    while (await isOpen()) {
      faults.pipeline.start({ FAULT_POINT: 'split:before-send:1:kill' });
      await Promise.race([faults.pipeline.gone(), faults.service.driver.ended(id)]);
      if (!faults.pipeline.running) deaths++;
      if (!faults.pipeline.running) await faults.killPipeline();
      expect(deaths).toBeLessThan(10);
    }
  });

  it('nothing of these jobs is stored, and the jobs behind them go on', async () => {
    const { driver } = faults.service;
    await faults.killPipeline();
    faults.pipeline.start();
    const behind = await newAudience();
    expect(await driver.ended(behind.id)).toMatchObject({ status: 2 });
    expect(await driver.members(setNames.audience(behind.id, 1))).toEqual(asMembers(behind.devices));
    for (const id of given) {
      expect(await driver.ended(id)).toMatchObject(poisoned);
      expect(await driver.members(setNames.audience(id, 1))).toEqual(new Set());
    }
  });
}
