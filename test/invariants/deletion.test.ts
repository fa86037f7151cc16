/** A deletion is for good: afterwards no document in MongoDB holds the pairs it removed, and none that it was not told to. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { collections, setNames } from '../../schemas/documents.ts';
import type { ChunkDocument, ManifestDocument } from '../../schemas/stage-documents.ts';
import { createDriver, type Driver } from '../support/driver.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { type Service, startService } from '../support/stack.ts';

let service: Service;
let driver: Driver;
beforeAll(async () => {
  service = await startService({ parts: ['pipeline'] });
  driver = await createDriver(service.config);
});
afterAll(async () => {
  await driver?.close();
  await service?.stop();
});

/** Devices in all documents that say to be of the set, whether a manifest names them or not. */
async function stored(set: string): Promise<{ inline: number; chunks: number; spills: number }> {
  const manifests = await driver.db
    .collection<ManifestDocument>(collections.manifests)
    .find({ set })
    .toArray();
  const chunks = driver.db.collection<ChunkDocument>(collections.chunks);
  const byName = { $gte: `${set}#`, $lt: `${set}$` };
  return {
    inline: manifests.reduce((sum, { inline }) => sum + inline.length() / 16, 0),
    chunks: await chunks.countDocuments({ $or: [{ set }, { _id: byName }] }),
    spills: await driver.db.collection(collections.spills).countDocuments(),
  };
}

it('no chunk and no manifest holds the pairs of a deleted attribute; every other set is as it was', async () => {
  const partner = await driver.partner();
  const [gone, alsoGone, kept] = [
    await driver.attribute(partner),
    await driver.attribute(partner),
    await driver.attribute(partner),
  ];
  // Enough for chunks in every slot, brought by several jobs so that some of them are rewritten.
  const loads = [ids(40_000), ids(40_000), ids(500)];
  for (const [n, devices] of loads.entries()) {
    await driver.upload(partner, `${n}.csv`, file(devices, `${gone},${kept}`));
    await driver.import(partner, `${n}.csv`);
  }
  await driver.upload(partner, 'few.csv', file(loads[2]!, alsoGone));
  await driver.upload(partner, 'audience.csv', file(loads[0]!, 'seen'));
  await driver.import(partner, 'few.csv');
  const audience = await driver.createAudience(partner, 'audience.csv');
  await driver.ended(audience);
  expect((await stored(setNames.attribute(gone))).chunks).toBeGreaterThan(0);

  const deletion = await driver.ended(await driver.delete(partner, [gone, alsoGone]));
  expect(deletion).toMatchObject({ status: 2, uniqueDevices: 80_500, rows: 81_000 });
  for (const attribute of [gone, alsoGone]) {
    expect(await stored(setNames.attribute(attribute))).toEqual({ inline: 0, chunks: 0, spills: 0 });
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
