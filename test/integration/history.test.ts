/** A running service removes expired history and continues with the numbers after it. */
import { expect } from 'vitest';
import { fillHistory } from '../load/fill-history.ts';
import { withService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';

const test = withService({ parts: ['pipeline'], env: { HEADRACE_RETENTION_DAYS_JOBS: '30' } });
const DAY_MS = 86_400_000;

test('expired jobs go, loads of living audiences stay, and the next job has the next number', async ({
  service,
  driver,
}) => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  await fillHistory(driver.db, partner._id, 60, new Date(Date.now() - 31 * DAY_MS));
  const last = await fillHistory(driver.db, partner._id, 1, new Date(Date.now() - 29 * DAY_MS));
  await service.restart('pipeline');
  const numbers = async () => (await driver.jobs.distinct('_id')).sort((a, b) => a - b);
  const loads = Array.from({ length: 60 }, (_, i) => i + 1).filter((id) => [2, 3].includes(id % 10));
  await waitFor(async () => (await numbers()).length === loads.length + 1, {
    what: 'the removal of expired jobs',
  });
  expect(await numbers()).toEqual([...loads, last]);

  await driver.upload(partner, 'new.csv', file(ids(10), attribute));
  const job = await driver.import(partner, 'new.csv');
  expect(job).toBe(last + 1);
  expect(await driver.ended(job)).toMatchObject({ status: 2, rows: 10, uniqueDevices: 10 });
});
