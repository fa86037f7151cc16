/** A slot owner that was frozen before it merged a job, and wakes up when the job and later ones have ended, changes nothing. */
import { beforeEach, expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { shortDigestsOf } from '../../pipeline/sets/suppressions.ts';
import { createCommittedJobs } from '../../pipeline/stages/sink/committed-jobs.ts';
import { createGatherParts } from '../../pipeline/stages/sink/gather-parts.ts';
import { createMergeJobs } from '../../pipeline/stages/sink/merge-jobs.ts';
import { createServeRequest } from '../../pipeline/stages/sink/serve-request.ts';
import type { SinkStep } from '../../pipeline/stages/sink/steps.ts';
import { createUncommitted } from '../../pipeline/stages/sink/uncommitted.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { spaces } from '../../schemas/documents.ts';
import { EVERYONE } from '../../schemas/job-documents.ts';
import type { JobMarker } from '../../schemas/topics.ts';
import { checkEveryManifest, emptyDatabase, openDatabase } from '../sets/database.ts';
import { keyed, numberedDevices, onePart, testPlacement, toHex } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { findInDatabase } from '../support/scan-database.ts';
import { slotTarget } from '../support/slot-target.ts';

const database = openDatabase();
const SLOT = 3;
const PARTNER = 'p';
const devices = numberedDevices(0, 20);
const { hash: hashDevice } = testPlacement;

beforeEach(() => emptyDatabase(database.db));

const asImport = {} as const;
const asLoad = { kind: 'audience', audience: 9, generation: 1 } as const;

/** What another owner of the slot holds, which knows of no job merged there. An older job of another partner is unfinished. */
function ownSlot(job: number, fields: Partial<JobMarker>) {
  const uncommitted = createUncommitted();
  const key = fields.audience ? '' : '1';
  uncommitted.add(
    { job, file: 0, batch: 0, slot: SLOT, part: 0, groups: encodeGroups([{ key, devices }]) },
    0n,
  );
  const committed = createCommittedJobs(new Map([[SLOT, { last: 0, open: new Set() }]]));
  const marker = markerOf({ job, partner: PARTNER, ended_before: 1, ...fields });
  return { marker, slots: [SLOT], committed, uncommitted };
}

async function mergeJob(job: number, fields: Partial<JobMarker>): Promise<void> {
  const merge = createMergeJobs({
    ...createStores(database.db),
    sets: createDeviceSets(database.db),
    hashDevice,
  });
  const { marker, ...owned } = ownSlot(job, fields);
  await merge({ markers: [marker], ...owned }, recordedStep('sink'));
}

/** Deletes the devices for everyone, unless a step with this name is reached. */
async function deleteForAll(job: number, diesAt?: string): Promise<void> {
  const stores = createStores(database.db);
  const serve = createServeRequest({
    ...stores,
    sets: createDeviceSets(database.db),
    hashDevice,
    gatherParts: createGatherParts({ ...stores, hashDevice }),
    secret: Buffer.alloc(32),
  });
  const step = recordedStep('sink');
  const dying = async <T>(name: string, work: () => Promise<T>) => {
    if (name === diesAt) throw new Error('died');
    return step(name, work);
  };
  const fields = { kind: 'privacy', privacy: 'delete', partner: EVERYONE, files_counted: true } as const;
  const { marker, ...owned } = ownSlot(job, fields);
  await serve(marker, owned, Object.assign(dying, { ...step }) as SinkStep);
}

const digests = (job?: number) => keyed({ devices: shortDigestsOf(keyed({ devices })), key: job });
const suppress = (partner: string, job: number) =>
  createDeviceSets(database.db).merge(
    slotTarget({ space: listOf(partner), slot: SLOT, job, partner }),
    onePart(digests(job)),
  );
const restore = (partner: string, job: number) =>
  createDeviceSets(database.db).erase(
    slotTarget({ space: listOf(partner), slot: SLOT, job, partner }),
    digests(),
  );
const listOf = (partner: string) => spaces.suppressed(partner === EVERYONE ? undefined : partner);

it.each([
  ['an import', spaces.marketplace, asImport],
  ['a load', spaces.audience(9, 1), asLoad],
])('%s whose devices were all suppressed, and are restored', async (_, space, fields) => {
  await suppress(PARTNER, 2);
  await mergeJob(3, fields);
  await restore(PARTNER, 4);
  await mergeJob(3, fields);
  expect(await createDeviceSets(database.db).count(space)).toBe(0);
  expect(await checkEveryManifest(database.db)).toEqual([]);
  await mergeJob(5, fields);
  expect(await createDeviceSets(database.db).count(space)).toBe(20);
});

it.each([
  ['an import', spaces.marketplace, asImport],
  ['a load', spaces.audience(9, 1), asLoad],
])(
  '%s that added nothing, before its devices are deleted for everyone and restored',
  async (_, space, fields) => {
    await mergeJob(2, fields);
    await mergeJob(3, fields);
    await suppress(EVERYONE, 4);
    const target = slotTarget({ space, slot: SLOT, job: 4, partner: EVERYONE });
    await createDeviceSets(database.db).erase(target, keyed({ devices }));
    await restore(EVERYONE, 5);
    await mergeJob(3, fields);
    expect(await createDeviceSets(database.db).count(space)).toBe(0);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  },
);

it('a deletion that found devices which another one has removed since: it removes none that are loaded later', async () => {
  await mergeJob(2, asImport);
  await expect(deleteForAll(3, 'erase')).rejects.toThrow('died');
  const target = slotTarget({ space: spaces.marketplace, slot: SLOT, job: 4, partner: PARTNER });
  await createDeviceSets(database.db).erase(target, keyed({ devices }));
  await deleteForAll(3);
  await restore(EVERYONE, 5);
  await mergeJob(6, asImport);
  await deleteForAll(3);
  expect(await createDeviceSets(database.db).count(spaces.marketplace)).toBe(20);
  expect(await checkEveryManifest(database.db)).toEqual([]);
});

it('devices that are spilled when they are deleted for everyone: the merge leaves them out, and nothing of them', async () => {
  const stores = createStores(database.db);
  const { marker, ...owned } = ownSlot(3, asImport);
  const save = (batch: Parameters<typeof stores.spills.save>[0]) => stores.spills.save(batch, hashDevice);
  await owned.uncommitted.spill(() => true, save);
  await deleteForAll(4);
  const merge = createMergeJobs({ ...stores, sets: createDeviceSets(database.db), hashDevice });
  await merge({ markers: [marker], ...owned }, recordedStep('sink'));
  expect((await stores.acks.ofJob(3)).map(({ suppressed }) => suppressed)).toEqual([20]);
  expect(await findInDatabase(database.db, toHex(devices))).toEqual([]);
});
