/** A cleared audience leaves nothing behind, not even what a sink writes that was frozen while the audience was cleared and swept. */
import { expect, it } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createSweep } from '../../pipeline/stages/dispatch/sweep.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { spaces } from '../../schemas/documents.ts';
import { beforeManifests, createGate, manifestsOf, openDatabase, pagesOf } from '../sets/database.ts';
import { keyed, numberedDevices, onePart } from '../sets/devices.ts';
import { recordedStep } from '../support/recorded-step.ts';

const database = openDatabase();
const AUDIENCE = 7;
const partner = 'p-sweep';
const never = recordedStep('dispatch');

it('what a frozen sink writes into a swept generation is swept too, and the present one stays', async () => {
  const { db } = database;
  const stores = createStores(db);
  const { audiences } = stores;
  const log = createLogger({ logLevel: 'silent' }, 'test');
  const sets = createDeviceSets(db);
  const sweep = createSweep({ ...stores, log, sets });
  const load = {
    kind: 'audience',
    partner,
    customer: null,
    audienceName: 'a',
    createdAt: new Date(),
  } as const;
  await audiences.ensure({ ...load, _id: AUDIENCE, audience: AUDIENCE });

  const gate = createGate();
  const frozen = createDeviceSets(beforeManifests(db, gate.wait));
  const target = { slot: 3, job: AUDIENCE, since: 0 };
  const devices = (to: number) => onePart(keyed({ devices: numberedDevices(0, to), key: 2 }));
  const writing = frozen.merge({ ...target, space: spaces.audience(AUDIENCE, 1) }, devices(100));
  await gate.reached;
  // Twelve clears: generation 1 must not be taken for 10, 11 or 12.
  for (let generation = 1; generation <= 12; generation++)
    await audiences.clear({ partner, customer: null }, AUDIENCE, generation);
  const present = spaces.audience(AUDIENCE, 13);
  await sets.merge({ ...target, space: present }, devices(50));
  await sweep(never);

  gate.open();
  await writing;
  expect(await manifestsOf(db).countDocuments({ space: spaces.audience(AUDIENCE, 1) })).toBe(1);
  await sweep(never);
  expect(await manifestsOf(db).distinct('space')).toEqual([present]);
  const pages = await pagesOf(db).distinct('_id');
  expect(pages.filter((id) => !id.startsWith(`${present}#`))).toEqual([]);
  expect(await sets.count(present)).toBe(50);
});
