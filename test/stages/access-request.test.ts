/** The answer of an access request is whole, however much is stored about the devices of a slot. */
import { beforeEach, expect, it } from 'vitest';
import { devicesOf } from '../../api/resources/privacy/privacy-records.ts';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import type { Devices } from '../../pipeline/sets/devices.ts';
import { createAnswerRequest } from '../../pipeline/stages/sink/answer-request.ts';
import { createCommittedJobs } from '../../pipeline/stages/sink/committed-jobs.ts';
import { createGatherParts } from '../../pipeline/stages/sink/gather-parts.ts';
import { createServeRequest } from '../../pipeline/stages/sink/serve-request.ts';
import { createUncommitted } from '../../pipeline/stages/sink/uncommitted.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { spaces } from '../../schemas/documents.ts';
import { EVERYONE, JobStatus } from '../../schemas/job-documents.ts';
import { emptyDatabase, openDatabase } from '../sets/database.ts';
import { keyed, numberedDevices, onePart, testPlacement } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { aJob } from '../support/recording-environment.ts';
import { slotTarget } from '../support/slot-target.ts';

const database = openDatabase();
const SLOT = 3;
const REQUEST = 1_000;
const secret = Buffer.alloc(32);
const { hash: hashDevice } = testPlacement;

beforeEach(() => emptyDatabase(database.db));

it('is the same in parts, even of the data about a single device', async () => {
  const { db } = database;
  const [stores, sets] = [createStores(db), createDeviceSets(db)];
  const devices = keyed({ devices: numberedDevices(0, 9) });
  const held: string[] = [spaces.marketplace];
  await sets.merge(
    slotTarget({ space: spaces.marketplace, slot: SLOT, job: 1 }),
    onePart(keyed({ devices: numberedDevices(0, 9), key: 5 }, { devices: numberedDevices(3, 4), key: 7 })),
  );
  for (let audience = 1; audience <= 8; audience++) {
    held.push(spaces.audience(audience, 1));
    const values = Array.from({ length: 30 }, (_, n) => `${n} \u{1f600}`);
    await stores.eventValues.assign(audience, 1, values);
    const numbers = await stores.eventValues.numbersOf(audience, 1, values);
    const some = { devices: numberedDevices(0, (audience % 4) + 1) };
    const groups = [...numbers.values()].map((key) => ({ ...some, key }));
    const target = { space: held.at(-1)!, slot: SLOT, job: audience };
    await sets.merge(slotTarget(target), onePart(keyed(...groups)));
  }
  async function* find(some: Devices) {
    for (const space of held) {
      const found = await sets.look({ space, slot: SLOT }, some);
      if (found.size > 0) yield { space, found };
    }
  }
  async function answer(job: number, limits: { heldChars?: number; partChars?: number }) {
    const answerRequest = createAnswerRequest({ ...stores, secret, ...limits });
    const asked = { job, slot: SLOT, devices };
    const found = await answerRequest(asked, find, recordedStep('sink'));
    expect(await answerRequest(asked, find, recordedStep('sink'))).toBe(found);
    const records = new Map<string, object>();
    for await (const { identifier, ...record } of stores.requestResults.answers(job, [secret])) {
      expect(records.has(identifier)).toBe(false);
      records.set(identifier, record);
    }
    return { found, records, parts: (await stores.requestResults.find(job, SLOT))!.before?.parts ?? 0 };
  }
  const whole = await answer(1, {});
  expect([whole.found, whole.records.size, whole.parts]).toEqual([9, 9, 0]);
  for (const [n, limits] of [
    { partChars: 700 },
    { heldChars: 3_000, partChars: 700 },
    { heldChars: 1 },
  ].entries()) {
    const { parts, ...cut } = await answer(2 + n, limits);
    expect(cut).toEqual({ found: whole.found, records: whole.records });
    expect(parts > 5).toBe('partChars' in limits);
  }
  expect(await answer(1, { partChars: 1 })).toEqual(whole);
});

it('more than fits into a document', async () => {
  const { db } = database;
  const [stores, sets] = [createStores(db), createDeviceSets(db)];
  const count = 5_000;
  const values = Array.from({ length: 14 }, (_, n) => String(n).padEnd(256, '.'));
  await stores.audiences.ensure(aJob({ _id: 1, audience: 1 }));
  await stores.eventValues.assign(1, 1, values);
  const numbers = await stores.eventValues.numbersOf(1, 1, values);
  const stored = [...numbers.values()].map((key) => ({ devices: numberedDevices(0, count), key }));
  const target = { space: spaces.audience(1, 1), slot: SLOT, job: 1 };
  await sets.merge(slotTarget(target), onePart(keyed(...stored)));
  const gatherParts = createGatherParts({ ...stores, hashDevice });
  const serve = createServeRequest({ ...stores, sets, hashDevice, gatherParts, secret });
  const uncommitted = createUncommitted();
  const groups = encodeGroups([{ key: '', devices: numberedDevices(0, count) }]);
  uncommitted.add({ job: REQUEST, file: 0, batch: 0, slot: SLOT, part: 0, groups }, 0n);
  const committed = createCommittedJobs(new Map([[SLOT, { last: REQUEST - 1, open: new Set() }]]));
  const marker = markerOf({ job: REQUEST, kind: 'privacy', privacy: 'access', partner: EVERYONE });
  await serve(marker, { slots: [SLOT], committed, uncommitted }, recordedStep('sink'));
  expect((await stores.acks.ofJob(REQUEST)).map(({ uniqueDevices }) => uniqueDevices)).toEqual([count]);

  const job = aJob({ _id: REQUEST, kind: 'privacy', privacy: 'access', status: JobStatus.done });
  const found = new Set<string>();
  for await (const { identifier, audiences } of (await devicesOf(createApiStores(db), job, [secret]))!) {
    found.add(identifier);
    expect(audiences[0]!.events.length).toBe(values.length);
  }
  expect(found.size).toBe(count);
});
