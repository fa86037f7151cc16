/**
 * 10. All of it together, on real servers: a partner imports a file and creates an audience of some of the same devices. Rows,
 *     devices and matches are exact, and the sets hold exactly these devices.
 */
import { expect } from 'vitest';
import { withSharedService } from '../support/fixture.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';

const test = withSharedService();
const devices = ids(300);

test('an import, and an audience that matches part of it', async ({ driver }) => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  // 200 devices, 50 of them twice, and a malformed row.
  const rows = [...devices.slice(0, 200), ...devices.slice(0, 50)];
  await driver.upload(partner, 'import.csv', `${file(rows, attribute)}nobody,${attribute}\n`);
  const imported = await driver.ended(await driver.import(partner, 'import.csv'));
  expect(imported).toMatchObject({ status: 2, rows: 251, uniqueDevices: 200, errors: null });
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers(devices.slice(0, 200)));

  await driver.upload(partner, 'audience.csv', file(devices.slice(150), 'seen'));
  const id = await driver.createAudience(partner, 'audience.csv');
  expect(await driver.ended(id)).toMatchObject({ status: 2, rows: 150, uniqueDevices: 150 });
  expect(await driver.audiences.findOne({ _id: id })).toMatchObject({
    uniqueDevices: 150,
    matchedDevices: 50,
  });
  expect(await driver.members(setNames.audience(id, 1))).toEqual(asMembers(devices.slice(150)));
});

test('a path that matches nothing ends the job and says why', async ({ driver }) => {
  const partner = await driver.partner();
  const job = await driver.ended(await driver.import(partner, 'nowhere.csv', { compressed: false }));
  expect(job).toMatchObject({ status: 3, errors: [{ code: 'no_files' }], uniqueDevices: 0 });
});
