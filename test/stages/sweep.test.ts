/** A cleared audience leaves nothing behind, not even what a sink writes that was frozen while the audience was cleared and swept. */
import { expect, it } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createRemoveJobs } from '../../pipeline/stages/dispatch/remove-jobs.ts';
import { createSweep } from '../../pipeline/stages/dispatch/sweep.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { setNames } from '../../schemas/documents.ts';
import { beforeManifests, chunksOf, createGate, manifestsOf, openDatabase } from '../sets/database.ts';
import { numberedDevices } from '../sets/devices.ts';
import { createCountedSets } from '../support/counted-sets.ts';
import { recordedStep } from '../support/recorded-step.ts';

const database = openDatabase();
const AUDIENCE = 7;
const partner = 'p-sweep';
const owned = async () => true;
const never = recordedStep('dispatch');

it('what a frozen sink writes into a swept generation is swept too, and the present one stays', async () => {
  const { db } = database;
  const stores = createStores(db);
  const { audiences } = stores;
  const log = createLogger({ logLevel: 'silent' }, 'test');
  const layout = { inlineDevices: 4, chunkDevices: 64 };
  const sets = createCountedSets(db, { layout });
  const sweep = createSweep({ ...stores, log, sets, removeJobs: createRemoveJobs(stores) });
  const load = {
    kind: 'audience',
    partner,
    customer: null,
    audienceName: 'a',
    createdAt: new Date(),
  } as const;
  await audiences.ensure({ ...load, _id: AUDIENCE, audience: AUDIENCE });

  const gate = createGate();
  const frozen = createCountedSets(beforeManifests(db, gate.wait), { layout });
  const additions = [setNames.audience(AUDIENCE, 1), setNames.event(AUDIENCE, 1, 'seen')].map((set) => ({
    set,
    slot: 3,
    devices: numberedDevices(0, 100),
  }));
  const writing = frozen.add(additions, owned);
  await gate.reached;
  // Twelve clears: generation 1 must not be taken for 10, 11 or 12.
  for (let generation = 1; generation <= 12; generation++)
    await audiences.clear({ partner, customer: null }, AUDIENCE, generation);
  const present = setNames.audience(AUDIENCE, 13);
  await sets.add([{ set: present, slot: 3, devices: numberedDevices(0, 50) }], owned);
  await sweep(never);

  gate.open();
  await writing;
  expect(await manifestsOf(db).countDocuments({ set: /:g1(:|$)/ })).toBe(2);
  await sweep(never);
  expect(await manifestsOf(db).distinct('set')).toEqual([present]);
  expect(await chunksOf(db).distinct('set')).toEqual([present]);
  expect(await sets.count(present)).toBe(50);
});
