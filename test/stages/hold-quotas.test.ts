/** Listed jobs that have not ended count towards the quota, too, and each counts once. */
import { beforeEach, describe, expect, it } from 'vitest';
import { createQuotaHold } from '../../pipeline/stages/dispatch/admit/hold-quotas.ts';
import { draftPartner } from '../../pipeline/stores/partners.ts';
import { createStores, type Stores } from '../../pipeline/stores/stores.ts';
import type { PartnerQuotas } from '../../schemas/partner-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { aJob } from '../support/recording-environment.ts';

const database = openDatabase();
let stores: Stores;
let partner: string;
beforeEach(async () => {
  await database.db.dropDatabase();
  stores = createStores(database.db);
});

async function createHold(quotas: PartnerQuotas, defaults = { maxBytesPerDay: 0, maxRowsPerDay: 0 }) {
  const drafted = { ...draftPartner('held'), quotas };
  partner = drafted._id;
  await stores.partners.insert(drafted);
  return createQuotaHold({ ...stores, maxPendingJobs: 1, ...defaults });
}
const job = (_id: number, bytes?: number, day = '2026-11-16') =>
  aJob({ _id, partner, createdAt: new Date(`${day}T12:00:00Z`), ...(bytes === undefined ? {} : { bytes }) });
const end = (_id: number, bytes: number, rows = 0) => stores.usage.record([{ job: job(_id, bytes), rows }]);
const refused = { code: 'quota_exceeded', message: expect.any(String) };

describe('bytes', () => {
  it('in flight and ended: what fits is admitted to the last byte', async () => {
    const { admit } = await createHold({ bytesPerDay: 100 });
    expect(await admit(job(1), 60)).toBeUndefined();
    expect(await admit(job(2), 41)).toEqual(refused);
    expect(await admit(job(3), 40)).toBeUndefined();
    expect(await admit(job(4), 1)).toEqual(refused);
    await end(1, 60);
    expect(await admit(job(5), 1)).toEqual(refused);
    await end(2, 0);
    await end(3, 40);
    expect(await admit(job(6), 1)).toEqual(refused);
    expect(await admit(job(6), 0)).toBeUndefined();
  });

  it('a job that is listed page by page, or again, counts with what it has now', async () => {
    const { admit } = await createHold({ bytesPerDay: 100 });
    for (const bytes of [30, 60, 90, 90]) expect(await admit(job(1), bytes)).toBeUndefined();
    expect(await admit(job(1), 101)).toEqual(refused);
    // The refused job does not load, so its bytes are free for others.
    expect(await admit(job(2), 100)).toBeUndefined();
  });

  it('jobs that a predecessor has listed count', async () => {
    const { admit, hold } = await createHold({ bytesPerDay: 100 });
    hold(job(1, 80));
    expect(await admit(job(2), 30)).toEqual(refused);
    expect(await admit(job(3), 20)).toBeUndefined();
  });

  it('a stopped job counts until it has ended, and once, though its end is recorded again', async () => {
    const { admit, hold } = await createHold({ bytesPerDay: 100 });
    const stopped = { ...job(1, 30), stoppedAt: new Date(), unpackedBytes: 60 };
    hold(stopped);
    expect(await admit(job(2), 40)).toBeUndefined();
    expect(await admit(job(3), 1)).toEqual(refused);
    for (let time = 0; time < 2; time++) await stores.usage.record([{ job: stopped, rows: 0 }]);
    expect(await admit(job(4), 1)).toEqual(refused);
    await end(2, 40);
    expect((await stores.usage.of(partner, '2026-11-16')).bytes).toBe(100);
  });

  it('a job that unpacks to more counts with that, and is refused when it is too much', async () => {
    const { admit, grow } = await createHold({ bytesPerDay: 100 });
    expect(await admit(job(1), 10)).toBeUndefined();
    expect(await admit(job(2), 10)).toBeUndefined();
    expect(await grow(job(1), 90)).toBeUndefined();
    expect(await admit(job(3), 1)).toEqual(refused);
    expect(await grow(job(2), 11)).toEqual(refused);
    await stores.usage.record([{ job: { ...job(1, 10), unpackedBytes: 90 }, rows: 0 }]);
    expect(await admit(job(4), 11)).toEqual(refused);
    expect(await admit(job(4), 10)).toBeUndefined();
  });

  it('each day and each partner has its own', async () => {
    const { admit } = await createHold({ bytesPerDay: 100 });
    expect(await admit(job(1), 100)).toBeUndefined();
    expect(await admit(job(2, undefined, '2026-11-17'), 100)).toBeUndefined();
    expect(await admit({ ...job(3), partner: 'p-other' }, 1_000)).toBeUndefined();
  });
});

describe('rows', () => {
  it('when they are used up, no job is admitted', async () => {
    const { admit } = await createHold({ rowsPerDay: 10 });
    expect(await admit(job(1), 5)).toBeUndefined();
    await end(1, 5, 9);
    expect(await admit(job(2), 5)).toBeUndefined();
    await end(2, 5, 1_000);
    expect(await admit(job(3), 5)).toEqual(refused);
  });

  it('a job in flight when they run out is loaded whole', async () => {
    const { admit, grow } = await createHold({ rowsPerDay: 10 });
    await end(1, 5, 1_000);
    expect(await grow(job(2), 1_000_000)).toBeUndefined();
    expect(await admit(job(3), 5)).toEqual(refused);
  });
});

describe('the configured quota', () => {
  it('holds for partners without one of their own; 0 is no limit', async () => {
    const defaults = { maxBytesPerDay: 10, maxRowsPerDay: 0 };
    expect(await (await createHold({}, defaults)).admit(job(1), 11)).toEqual(refused);
    expect(await (await createHold({ bytesPerDay: 11 }, defaults)).admit(job(2), 11)).toBeUndefined();
    expect(await (await createHold({ bytesPerDay: 0 }, defaults)).admit(job(3), 1e12)).toBeUndefined();
  });
});
