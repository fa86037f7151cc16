/** The cache of key tables is bounded in bytes, and concurrent readers share one read. */
import { expect, it } from 'vitest';
import { createJobContexts } from '../../pipeline/stores/job-contexts.ts';
import { type AttributeDocument, collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';
import { aJob } from '../support/recording-environment.ts';

const database = openDatabase();
const ATTRIBUTES = 2_000;
const importOf = (partner: string) =>
  aJob({ kind: 'import', partner, keyType: 0, audience: null, attributesAsOf: 1e6 });

it('the oldest table gives way; one that exceeds the limit alone is kept until the next', async () => {
  const documents = ['p1', 'p2', 'p3'].flatMap((partner, p) =>
    Array.from({ length: ATTRIBUTES }, (_, i): AttributeDocument => {
      const _id = 1 + p * ATTRIBUTES + i;
      return { _id, partner, name: 'n', sequence: _id, createdAt: new Date() };
    }),
  );
  await database.db.collection<AttributeDocument>(collections.attributes).insertMany(documents);
  const { bytes } = await createJobContexts(database.db).keysOf(importOf('p1'));
  expect(bytes).toBeGreaterThan(ATTRIBUTES * 16);

  const two = createJobContexts(database.db, 2.5 * bytes);
  const [first, same] = await Promise.all([two.keysOf(importOf('p1')), two.keysOf(importOf('p1'))]);
  expect(same).toBe(first);
  const second = await two.keysOf(importOf('p2'));
  expect(await two.keysOf(importOf('p1'))).toBe(first);
  await two.keysOf(importOf('p3'));
  expect(await two.keysOf(importOf('p1'))).toBe(first);
  expect(await two.keysOf(importOf('p2'))).not.toBe(second);

  const crowded = createJobContexts(database.db, bytes / 2);
  const all = await Promise.all(['p1', 'p2', 'p3'].map((partner) => crowded.keysOf(importOf(partner))));
  expect(all.map(({ attributes }) => attributes.size)).toEqual([ATTRIBUTES, ATTRIBUTES, ATTRIBUTES]);

  const none = createJobContexts(database.db, bytes / 2);
  const large = await none.keysOf(importOf('p1'));
  expect(await none.keysOf(importOf('p1'))).toBe(large);
  await none.keysOf(importOf('p2'));
  expect(await none.keysOf(importOf('p1'))).not.toBe(large);
});
