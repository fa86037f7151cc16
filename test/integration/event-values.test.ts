/** An audience keeps its first 10,000 event values, in the order of its loads; later ones count as (other), exactly. */
import { expect } from 'vitest';
import { composition } from '../../schemas/http-composition.ts';
import { readReport } from '../api/composition-scene.ts';
import { createCaller } from '../api/support.ts';
import { withSharedService } from '../support/fixture.ts';
import { ids } from '../support/rows.ts';

const test = withSharedService();
/** Below the limit of 1,000 above which a file's values collapse. */
const VALUES_A_FILE = 900;

test('values of a load beyond the limit, and of every later load, are (other); known ones stay themselves', async ({
  service,
  driver,
}) => {
  const partner = await driver.partner();
  const { key } = await driver.stores.apiKeys.create(service.config.secret, partner._id);
  const devices = ids(VALUES_A_FILE);
  /** Within a file, values are numbered in text order. */
  const named = (number: number) => `value ${String(number).padStart(5, '0')}`;
  /** One device per value. */
  const upload = (path: string, from: number) =>
    driver.upload(partner, path, devices.map((device, i) => `${device},${named(from + i)}\n`).join(''));

  for (let file = 0; file < 12; file++)
    await upload(`first/${String(file).padStart(2, '0')}.csv`, file * VALUES_A_FILE);
  const audience = await driver.createAudience(partner, 'first/');
  await upload('second.csv', 0);
  await upload('third.csv', 20_000);
  for (const path of ['second.csv', 'third.csv']) await driver.append(partner, audience, path);
  await driver.ended(await driver.append(partner, audience, 'none/'));

  const reply = await readReport(createCaller(service.apiUrl, key), audience);
  const { events, unique_devices } = composition.parse(reply.json);
  expect(unique_devices).toBe(VALUES_A_FILE);
  expect(events).toHaveLength(10_001);
  const byName = new Map(events.map(({ event, ...counts }) => [event, counts]));
  const overLimit = 12 * VALUES_A_FILE - 10_000;
  expect(byName.get('(other)')).toEqual({ devices: VALUES_A_FILE, rows: overLimit + VALUES_A_FILE });
  for (let value = 0; value < 10_000; value++)
    expect(byName.get(named(value))).toEqual({ devices: 1, rows: value < VALUES_A_FILE ? 2 : 1 });
});
