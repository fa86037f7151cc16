/** A partner's usage counts each job once, on the day when the job was accepted. */
import { beforeEach, expect, it } from 'vitest';
import { createUsageStore } from '../../pipeline/stores/usage.ts';
import { openDatabase } from '../sets/database.ts';
import { aJob } from '../support/recording-environment.ts';

const database = openDatabase();
const partner = 'p-one';
const loaded = (_id: number, day: string, of = partner) => ({
  job: aJob({ _id, partner: of, bytes: 100 * _id, createdAt: new Date(`${day}T23:59:59.999Z`) }),
  rows: _id,
});

beforeEach(() => database.db.dropDatabase());

it('adds up by day and partner', async () => {
  const usage = createUsageStore(database.db);
  await usage.record([loaded(1, '2026-11-15'), loaded(2, '2026-11-16'), loaded(3, '2026-11-16', 'p-on')]);
  await usage.record([loaded(4, '2026-11-16')]);
  expect(await usage.of(partner, '2026-11-16')).toMatchObject({ job: 4, jobs: 2, bytes: 600, rows: 6 });
  expect(await usage.of(partner, '2026-11-17')).toEqual({ job: 0, jobs: 0, bytes: 0, rows: 0 });
  expect(await usage.list(partner, 7)).toEqual([
    { day: '2026-11-16', job: 4, jobs: 2, bytes: 600, rows: 6 },
    { day: '2026-11-15', job: 1, jobs: 1, bytes: 100, rows: 1 },
  ]);
  expect(await usage.list(partner, 1)).toHaveLength(1);
});

it('a job that is recorded again, alone or in another group, changes nothing', async () => {
  const usage = createUsageStore(database.db);
  const [one, two, three] = [1, 2, 3].map((id) => loaded(id, '2026-11-16')) as [
    ReturnType<typeof loaded>,
    ReturnType<typeof loaded>,
    ReturnType<typeof loaded>,
  ];
  await usage.record([one, two]);
  await usage.record([one]);
  await usage.record([one, two, three]);
  await usage.record([two, three]);
  expect(await usage.of(partner, '2026-11-16')).toMatchObject({ job: 3, jobs: 3, bytes: 600, rows: 6 });
});
