import { Binary } from 'mongodb';
import { beforeAll, expect, it } from 'vitest';
import { createCompositionStore } from '../../pipeline/stores/compositions.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import type { CompositionDocument } from '../../schemas/composition-documents.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
beforeAll(() => ensureIndexes(database.db));
const DEAD_AFTER_MS = 600_000;
const store = () => createCompositionStore(database.db, { compositionDeadMs: DEAD_AFTER_MS });
const documents = () => database.db.collection<CompositionDocument>(collections.compositions);
const report = {
  generation: 1,
  ended: { marketplace: 5, loads: 4 },
  visibility: 3,
  overtaken: false,
  devices: 10,
  matched: 7,
  marketplaceDevices: 100,
  rowParts: 2,
  others: new Binary(new Uint8Array(32)),
  compared: { ofCustomer: true, ofPartner: false },
  events: [{ event: '$event', devices: 3, rows: 4 }],
};
const limits = { perPartner: 10, perCustomer: 3 };
const request = (audience: number, generation: number, token: string, customer: string | null = null) => ({
  audience,
  generation,
  token,
  partner: 'p-a',
  customer,
});
async function claim(audience: number, generation: number, token: string) {
  const claimed = await store().claim(request(audience, generation, token), limits);
  if (claimed === 'full') throw new Error('there was no place');
  return claimed;
}
/** As if the holder of the claim had been silent for this long. */
const silentFor = (audience: number, ms: number) =>
  documents().updateOne({ _id: audience }, [
    { $set: { 'claim.heartbeat': { $subtract: ['$claim.heartbeat', ms] } } },
  ]);

it('of many claims at once one stands, and all see it', async () => {
  const tokens = Array.from({ length: 20 }, (_, i) => `token ${i}`);
  const claims = await Promise.all(tokens.map((token) => claim(1, 1, token)));
  expect(new Set(claims.map(({ token }) => token)).size).toBe(1);
  expect(new Set(claims.map(({ startedAt }) => startedAt.getTime())).size).toBe(1);
  expect((await store().find(1)).claim).toMatchObject({
    token: claims[0]!.token,
    progress: 0,
    generation: 1,
  });
});

it('a claim stands while it has a heartbeat, and is free afterwards; its former holder stores nothing', async () => {
  await claim(2, 1, 'first');
  await silentFor(2, DEAD_AFTER_MS / 2);
  expect((await claim(2, 1, 'second')).token).toBe('first');
  await store().beat([{ audience: 2, token: 'first', progress: 0.5 }]);
  await silentFor(2, DEAD_AFTER_MS / 2);
  expect((await store().find(2)).claim).toMatchObject({ token: 'first', progress: 0.5 });
  await silentFor(2, DEAD_AFTER_MS);
  expect((await store().find(2)).claim).toBeUndefined();
  expect(await claim(2, 1, 'third')).toMatchObject({ token: 'third', progress: 0 });

  await store().beat([{ audience: 2, token: 'first', progress: 0.9 }]);
  expect(await store().finish(2, 'first', report)).toBe('first');
  await store().fail(2, 'first');
  await store().release(2, 'first');
  expect(await store().find(2)).toMatchObject({ claim: { token: 'third', progress: 0 } });
  expect((await store().find(2)).report).toBeUndefined();
  expect(await store().finish(2, 'third', report)).toBeUndefined();
  const stored = await store().find(2);
  expect(stored.claim).toBeUndefined();
  expect(stored.report).toMatchObject({
    token: 'third',
    generation: 1,
    ended: report.ended,
    overtaken: false,
  });
  expect(stored.report!.ageMs).toBeLessThan(60_000);
  expect(stored.report).not.toHaveProperty('others');
  expect(await store().report(2, 'third')).toMatchObject(report);
  expect(await store().report(2, 'first')).toBeUndefined();
  const { startedAt } = await claim(2, 1, 'fourth');
  expect(await store().finish(2, 'fourth', report)).toBe('third');
  expect(await store().report(2, 'fourth')).toMatchObject({ startedAt });
});

it('a claim of a cleared generation gives way, and nothing of it stays', async () => {
  await claim(3, 1, 'old');
  expect((await claim(3, 2, 'new')).token).toBe('new');
  expect((await claim(3, 1, 'late')).token).toBe('new');
  await store().finish(3, 'new', { ...report, generation: 2 });
  await store().forgetBelow(3, 2);
  expect((await store().find(3)).report).toBeDefined();
  await store().forgetBelow(3, 3);
  expect(await documents().countDocuments({ _id: 3 })).toBe(0);
});

it('a failure is told once, and the next claim forgets it', async () => {
  await claim(4, 1, 'a');
  await store().fail(4, 'a');
  const { failedAt, claim: left } = await store().find(4);
  expect(left).toBeUndefined();
  const told = await Promise.all([1, 2, 3].map(() => store().takeFailure(4, failedAt!)));
  expect(told.filter(Boolean)).toHaveLength(1);
  expect((await store().find(4)).failedAt).toBeUndefined();
  await claim(4, 1, 'b');
  await store().fail(4, 'b');
  await claim(4, 1, 'c');
  expect((await store().find(4)).failedAt).toBeUndefined();
});

it('of many claims at once, as many stand as a partner and a customer may have; those of dead processes count no more', async () => {
  const partner = 'p-limited';
  const claimAll = (from: number, count: number, customer: string | null) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        store().claim({ ...request(from + i, 1, `token ${from + i}`, customer), partner }, limits),
      ),
    );
  const passed = (claims: Awaited<ReturnType<typeof claimAll>>) =>
    claims.filter((one) => one !== 'full').length;
  expect(passed(await claimAll(100, 20, '$red'))).toBe(3);
  expect(passed(await claimAll(200, 30, null))).toBe(7);
  expect(passed(await claimAll(300, 3, 'blue'))).toBe(0);
  const [first, second] = await documents().find({ 'claim.partner': partner }).limit(2).toArray();
  // Asking again for a report that is being computed needs no free place.
  expect(await store().claim({ ...request(first!._id, 1, 'again'), partner }, limits)).toMatchObject({
    token: first!.claim!.token,
  });
  await silentFor(first!._id, 2 * DEAD_AFTER_MS);
  await store().release(second!._id, second!.claim!.token);
  expect(passed(await claimAll(400, 10, null))).toBe(2);
});
