import { Binary } from 'mongodb';
import { expect, it } from 'vitest';
import { createCompositionStore, DEAD_AFTER_MS } from '../../pipeline/stores/compositions.ts';
import type { CompositionDocument } from '../../schemas/composition-documents.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
const store = () => createCompositionStore(database.db);
const documents = () => database.db.collection<CompositionDocument>(collections.compositions);
const report = {
  generation: 1,
  ended: { marketplace: 5, loads: 4 },
  overtaken: false,
  devices: 10,
  matched: 7,
  marketplaceDevices: 100,
  attributes: new Binary(new Uint8Array(24)),
  others: new Binary(new Uint8Array(32)),
  events: [{ event: '$event', devices: 3, rows: 4 }],
};
/** As if the process that has the claim had been dead for so long. */
const silentFor = (audience: number, ms: number) =>
  documents().updateOne({ _id: audience }, [
    { $set: { 'claim.heartbeat': { $subtract: ['$claim.heartbeat', ms] } } },
  ]);

it('of many claims at once one stands, and all see it', async () => {
  const tokens = Array.from({ length: 20 }, (_, i) => `token ${i}`);
  const claims = await Promise.all(tokens.map((token) => store().claim(1, 1, token)));
  expect(new Set(claims.map(({ token }) => token)).size).toBe(1);
  expect(new Set(claims.map(({ startedAt }) => startedAt.getTime())).size).toBe(1);
  expect((await store().find(1)).claim).toMatchObject({
    token: claims[0]!.token,
    progress: 0,
    generation: 1,
  });
});

it('a claim stands while it has a heartbeat, and is free afterwards; its former holder stores nothing', async () => {
  await store().claim(2, 1, 'first');
  await silentFor(2, DEAD_AFTER_MS / 2);
  expect((await store().claim(2, 1, 'second')).token).toBe('first');
  await store().beat([{ audience: 2, token: 'first', progress: 0.5 }]);
  await silentFor(2, DEAD_AFTER_MS / 2);
  expect((await store().find(2)).claim).toMatchObject({ token: 'first', progress: 0.5 });
  await silentFor(2, DEAD_AFTER_MS);
  expect((await store().find(2)).claim).toBeUndefined();
  expect(await store().claim(2, 1, 'third')).toMatchObject({ token: 'third', progress: 0 });

  await store().beat([{ audience: 2, token: 'first', progress: 0.9 }]);
  await store().finish(2, 'first', report);
  await store().fail(2, 'first');
  await store().release(2, 'first');
  expect(await store().find(2)).toMatchObject({ claim: { token: 'third', progress: 0 } });
  expect((await store().find(2)).report).toBeUndefined();
  await store().finish(2, 'third', report);
  const stored = await store().find(2);
  expect(stored.claim).toBeUndefined();
  expect(stored.report).toMatchObject({
    token: 'third',
    generation: 1,
    ended: report.ended,
    overtaken: false,
  });
  expect(stored.report!.ageMs).toBeLessThan(60_000);
  expect(stored.report).not.toHaveProperty('attributes');
  expect(await store().report(2, 'third')).toMatchObject(report);
  expect(await store().report(2, 'first')).toBeUndefined();
});

it('a claim of a cleared generation gives way, and nothing of it stays', async () => {
  await store().claim(3, 1, 'old');
  expect((await store().claim(3, 2, 'new')).token).toBe('new');
  expect((await store().claim(3, 1, 'late')).token).toBe('new');
  await store().finish(3, 'new', { ...report, generation: 2 });
  await store().forgetBelow(3, 2);
  expect((await store().find(3)).report).toBeDefined();
  await store().forgetBelow(3, 3);
  expect(await documents().countDocuments({ _id: 3 })).toBe(0);
});

it('a failure is told once, and the next claim forgets it', async () => {
  await store().claim(4, 1, 'a');
  await store().fail(4, 'a');
  const { failedAt, claim } = await store().find(4);
  expect(claim).toBeUndefined();
  const told = await Promise.all([1, 2, 3].map(() => store().takeFailure(4, failedAt!)));
  expect(told.filter(Boolean)).toHaveLength(1);
  expect((await store().find(4)).failedAt).toBeUndefined();
  await store().claim(4, 1, 'b');
  await store().fail(4, 'b');
  await store().claim(4, 1, 'c');
  expect((await store().find(4)).failedAt).toBeUndefined();
});
