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

  async function expectOnlySecond(first: number, second: { id: number; devices: string[] }): Promise<void> {
    const { driver } = faults.service;
    expect(await driver.ended(first)).toMatchObject(poisoned);
    expect(await driver.members(setNames.audience(first, 1))).toEqual(new Set());
    expect(await driver.ended(second.id)).toMatchObject({ status: 2 });
    expect(await driver.members(setNames.audience(second.id, 1))).toEqual(asMembers(second.devices));
  }

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
    }
    await faults.killPipeline();
    faults.pipeline.start();
    const first = (await faults.service.driver.jobs.find().sort({ _id: -1 }).limit(1).next())!._id;
    await expectOnlySecond(first, await newAudience());
  });

  it('a message that process after process dies of', async () => {
    await faults.killPipeline();
    const first = await newAudience();
    const isOpen = async () =>
      (await faults.service.driver.jobs.findOne({ _id: first.id }))?.phase !== 'ended';
    let deaths = 0;
    // Armed until the message is given up: each next process crashes on the same file.
    while (await isOpen()) {
      faults.pipeline.start({ FAULT_POINT: 'split:before-send:1:kill' });
      await Promise.race([faults.pipeline.gone(), faults.service.driver.ended(first.id)]);
      if (!faults.pipeline.running) deaths++;
      if (!faults.pipeline.running) await faults.killPipeline();
      expect(deaths).toBeLessThan(10);
    }
    await faults.killPipeline();
    faults.pipeline.start();
    await expectOnlySecond(first.id, await newAudience());
  });
}
