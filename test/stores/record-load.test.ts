/** What a load adds to its audience and a privacy request removes: counted once, and not for an audience that was cleared since. */
import { expect, it } from 'vitest';
import { createAudienceStore } from '../../pipeline/stores/audiences.ts';
import { type AudienceDocument, collections } from '../../schemas/documents.ts';
import { EVERYONE } from '../../schemas/job-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { aJob } from '../support/recording-environment.ts';

const database = openDatabase();
const store = () => createAudienceStore(database.db);
const scope = { partner: 'p1', customer: null };

it('matches among the new devices are added, once a load; a report replaces them', async () => {
  const load = (_id: number, generation = 1) => aJob({ _id, audience: 1, generation });
  const record = (job: number, newDevices: number, matchedDevices: number, generation = 1) =>
    store().recordLoad(load(job, generation), {
      newDevices,
      matchedDevices,
      uploadedDevices: newDevices,
      failedFiles: 0,
      errors: null,
    });
  const audience = () => database.db.collection<AudienceDocument>(collections.audiences).findOne({ _id: 1 });
  const counts = async () => {
    const { uniqueDevices, matchedDevices } = (await audience())!;
    return [uniqueDevices, matchedDevices];
  };

  await store().ensure(load(1));
  await record(1, 10, 4);
  await record(2, 5, 3);
  expect(await counts()).toEqual([15, 7]);
  for (const again of [1, 2]) await record(again, 99, 99);
  expect(await counts()).toEqual([15, 7]);

  const before = (await audience())!;
  expect(before).toMatchObject({ matchedBy: 'load', matchedAt: expect.any(Date) });
  await store().recordMatched(before, 12);
  const counted = (await audience())!;
  expect(counted.matchedBy).toBe('report');
  await record(3, 0, 0);
  expect(await audience()).toMatchObject({ matchedBy: 'report', matchedAt: counted.matchedAt });
  await record(4, 1, 1);
  expect(await counts()).toEqual([16, 13]);
  expect((await audience())!.matchedBy).toBe('load');
  await store().recordMatched(before, 12);
  expect(await counts()).toEqual([16, 13]);

  const erase = (_id: number, partner: string) =>
    store().recordErasure(aJob({ _id, partner }), [{ audience: 1, generation: 1, devices: 2, matched: 1 }]);
  for (const _ of [1, 2]) await erase(5, 'p1');
  expect(await counts()).toEqual([14, 12]);
  for (const _ of [1, 2]) await erase(3, EVERYONE);
  expect(await counts()).toEqual([12, 11]);
  await store().recordMatched(counted, 99);
  expect(await counts()).toEqual([12, 11]);

  await store().clear(scope, 1, 1);
  await record(5, 17, 1);
  expect(await counts()).toEqual([0, 0]);
  await record(6, 2, 1, 2);
  expect(await counts()).toEqual([2, 1]);
});
