/** A deletion is permanent: afterwards no document in MongoDB holds a deleted pair, and all other pairs are still there. */
import { expect, it } from 'vitest';
import { decode } from '../../pipeline/sets/page-format.ts';
import { collections } from '../../schemas/documents.ts';
import type { PageDocument } from '../../schemas/stage-documents.ts';
import { useSharedService } from '../support/fixture.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';

const { driver } = await useSharedService();

/** Pages that hold the attribute, referenced by a manifest or not; and spills of the jobs. */
async function stored(attribute: number, jobs: number[] = []): Promise<{ pages: number; spills: number }> {
  let pages = 0;
  for await (const { d, k } of driver.db
    .collection<PageDocument>(collections.pages)
    .find({ _id: /^m#/ }, { promoteBuffers: true })) {
    if (decode({ devices: d, keys: k }, () => 0).keys.includes(attribute)) pages++;
  }
  return {
    pages,
    spills: await driver.db.collection(collections.spills).countDocuments({ job: { $in: jobs } }),
  };
}

it('no page holds the pairs of a deleted attribute; every other set is as it was', async () => {
  const partner = await driver.partner();
  const [gone, alsoGone, kept] = [
    await driver.attribute(partner),
    await driver.attribute(partner),
    await driver.attribute(partner),
  ];
  // Enough for pages in every slot, from several jobs so that some pages are rewritten.
  const jobs: number[] = [];
  const loads = [ids(40_000), ids(40_000), ids(500)];
  for (const [n, devices] of loads.entries()) {
    await driver.upload(partner, `${n}.csv`, file(devices, `${gone},${kept}`));
    jobs.push(await driver.import(partner, `${n}.csv`));
  }
  await driver.upload(partner, 'few.csv', file(loads[2]!, alsoGone));
  await driver.upload(partner, 'audience.csv', file(loads[0]!, 'seen'));
  jobs.push(await driver.import(partner, 'few.csv'));
  const audience = await driver.createAudience(partner, 'audience.csv');
  jobs.push(audience);
  await driver.ended(audience);
  expect((await stored(gone)).pages).toBeGreaterThan(0);

  const deletion = await driver.ended(await driver.delete(partner, [gone, alsoGone]));
  expect(deletion).toMatchObject({ status: 2, uniqueDevices: 80_500, rows: 81_000 });
  for (const attribute of [gone, alsoGone]) {
    expect(await stored(attribute, jobs)).toEqual({ pages: 0, spills: 0 });
    expect(await driver.sets.count(setNames.attribute(attribute))).toBe(0);
  }
  expect(await driver.members(setNames.attribute(kept))).toEqual(asMembers(loads.flat()));
  expect(await driver.members(setNames.audience(audience, 1))).toEqual(asMembers(loads[0]!));

  const again = await driver.ended(await driver.delete(partner, [gone]));
  expect(again).toMatchObject({ status: 2, uniqueDevices: 0, rows: 0 });
  await driver.upload(partner, 'new.csv', file(loads[2]!.slice(0, 7), gone));
  expect(await driver.ended(await driver.import(partner, 'new.csv'))).toMatchObject({ uniqueDevices: 7 });
  expect(await driver.members(setNames.attribute(gone))).toEqual(asMembers(loads[2]!.slice(0, 7)));
});
