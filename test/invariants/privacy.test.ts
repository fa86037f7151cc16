/** A deleted device is nowhere and cannot be loaded again; all counts follow. */
import { expect, it } from 'vitest';
import { createAttributeDeviceStore } from '../../pipeline/stores/attribute-devices.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { useService } from '../support/fixture.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { findInDatabase } from '../support/scan-database.ts';
import { setNames } from '../support/stored-sets.ts';

const { driver } = await useService({ parts: ['pipeline'] });

const sizeOf = async (attribute: number) =>
  (await createAttributeDeviceStore(driver.db).of([attribute])).get(attribute) ?? 0;
const audienceOf = async (audience: number) => (await driver.audiences.findOne({ _id: audience }))!;

/** An attribute and an audience with the same devices. */
async function loaded(partner: PartnerDocument, devices: string[]) {
  const attribute = await driver.attribute(partner);
  await driver.upload(partner, 'a.csv', file(devices, attribute));
  await driver.upload(partner, 'b.csv', file(devices, 'seen'));
  await driver.import(partner, 'a.csv');
  const audience = await driver.createAudience(partner, 'b.csv');
  expect(await driver.ended(audience)).toMatchObject({ status: 2, uniqueDevices: devices.length });
  return { attribute, audience };
}

it('a partner’s deletion removes its data of the devices and keeps them out, and nobody else’s', async () => {
  const [partner, other] = [await driver.partner(), await driver.partner()];
  const devices = ids(400);
  const [gone, kept] = [devices.slice(0, 60), devices.slice(60)];
  const own = await loaded(partner, devices);
  const theirs = await loaded(other, devices);
  const request = await driver.privacy('delete', partner, [...gone, ...ids(7)]);
  expect(await driver.ended(request)).toMatchObject({ status: 2, rows: 67, uniqueDevices: 60 });

  expect(await driver.members(setNames.attribute(own.attribute))).toEqual(asMembers(kept));
  expect(await driver.members(setNames.audience(own.audience, 1))).toEqual(asMembers(kept));
  expect(await audienceOf(own.audience)).toMatchObject({ uniqueDevices: 340, matchedDevices: 340 });
  expect(await sizeOf(own.attribute)).toBe(340);
  expect(await driver.members(setNames.attribute(theirs.attribute))).toEqual(asMembers(devices));
  expect(await audienceOf(theirs.audience)).toMatchObject({ uniqueDevices: 400, matchedDevices: 400 });
  expect(await sizeOf(theirs.attribute)).toBe(400);

  const more = ids(10);
  const half = [...gone.slice(0, 20), ...more];
  await driver.upload(partner, 'c/1.csv', file([...half, ...half], own.attribute));
  await driver.upload(partner, 'c/2.csv', file(gone.slice(10, 40), own.attribute));
  const again = await driver.import(partner, 'c/', { compressed: false });
  expect(await driver.ended(again)).toMatchObject({ status: 2, rows: 90, uniqueDevices: 10, suppressed: 40 });
  expect(await driver.filesOf(again)).toMatchObject([
    { accepted: 60, duplicates: 30, suppressed: 20 },
    { accepted: 30, duplicates: 0, suppressed: 30 },
  ]);
  expect(await sizeOf(own.attribute)).toBe(350);
  await driver.upload(partner, 'd.csv', file(half, 'again'));
  const append = await driver.append(partner, own.audience, 'd.csv');
  expect(await driver.ended(append)).toMatchObject({ uniqueDevices: 10, newDevices: 10, suppressed: 20 });
  expect(await audienceOf(own.audience)).toMatchObject({ uniqueDevices: 350, matchedDevices: 350 });
});

it('a deletion for everyone leaves the devices nowhere in the database, whatever came before it or in between', async () => {
  const [partner, other] = [await driver.partner(), await driver.partner()];
  const devices = ids(300);
  const gone = devices.slice(0, 50);
  const own = await loaded(partner, devices);
  const theirs = await loaded(other, devices);
  // A row that is rejected and kept.
  await driver.upload(other, 'bad.csv', `${file(devices.slice(0, 80), theirs.attribute)}${gone[0]},no key\n`);
  const bad = await driver.import(other, 'bad.csv');
  expect(await driver.ended(bad)).toMatchObject({ rejected: { unknown_key: 1 } });
  expect((await findInDatabase(driver.db, [gone[0]!])).map((one) => one.split(':')[0])).toEqual([
    'pages',
    'rejects',
  ]);
  const request = await driver.privacy('delete', null, gone);
  const during = await driver.import(other, 'bad.csv');
  expect(await driver.ended(request)).toMatchObject({ status: 2, uniqueDevices: 50 });
  await driver.ended(during);
  const after = await driver.import(other, 'bad.csv');
  expect(await driver.ended(after)).toMatchObject({ uniqueDevices: 30, suppressed: 50 });
  for (const { attribute, audience } of [own, theirs]) {
    expect(await sizeOf(attribute)).toBe(250);
    expect(await audienceOf(audience)).toMatchObject({ uniqueDevices: 250, matchedDevices: 250 });
  }
  expect(await findInDatabase(driver.db, gone)).toEqual([]);

  const restored = await driver.privacy('restore', null, gone.slice(0, 10));
  expect(await driver.ended(restored)).toMatchObject({ status: 2, uniqueDevices: 10 });
  const last = await driver.import(other, 'bad.csv');
  expect(await driver.ended(last)).toMatchObject({ uniqueDevices: 40, suppressed: 40 });
  expect(await sizeOf(theirs.attribute)).toBe(260);
  expect(await sizeOf(own.attribute)).toBe(250);
});

it('a request is in order with the jobs of its partner', async () => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const devices = ids(2_000);
  const gone = devices.slice(0, 500);
  await driver.upload(partner, 'all.csv', file(devices, attribute));
  await driver.upload(partner, 'gone.csv', gone.map((id) => `${id}\n`).join(''));
  const first = await driver.import(partner, 'all.csv');
  const request = await driver.privacy('delete', partner, 'gone.csv');
  const second = await driver.import(partner, 'all.csv');
  const restore = await driver.privacy('restore', partner, 'gone.csv');
  const third = await driver.import(partner, 'all.csv');
  expect(await driver.ended(third)).toMatchObject({ uniqueDevices: 2_000 });
  const suppressedIn = async (job: number) => (await driver.ended(job)).suppressed ?? 0;
  expect(await Promise.all([first, second, third].map(suppressedIn))).toEqual([0, 500, 0]);
  expect(await driver.ended(request)).toMatchObject({ status: 2, uniqueDevices: 500 });
  expect(await driver.ended(restore)).toMatchObject({ status: 2, uniqueDevices: 500 });
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers(devices));
  expect(await sizeOf(attribute)).toBe(2_000);
});
