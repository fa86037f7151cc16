/** A privacy request that is dropped when a slot has carried out a part of it: the ack says what is gone, and no more goes. */
import { beforeEach, describe, expect, it } from 'vitest';
import { unpackCounts, unpackNumbers } from '../../pipeline/formats/number-table.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { shortDigestsOf } from '../../pipeline/sets/suppressions.ts';
import { createCommittedJobs } from '../../pipeline/stages/sink/committed-jobs.ts';
import { createDropJob } from '../../pipeline/stages/sink/drop-job.ts';
import { createDropRequest } from '../../pipeline/stages/sink/drop-request.ts';
import { createGatherParts } from '../../pipeline/stages/sink/gather-parts.ts';
import { createServeRequest } from '../../pipeline/stages/sink/serve-request.ts';
import type { SinkStep } from '../../pipeline/stages/sink/steps.ts';
import { createUncommitted } from '../../pipeline/stages/sink/uncommitted.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { spaces } from '../../schemas/documents.ts';
import { EVERYONE } from '../../schemas/job-documents.ts';
import type { JobMarker } from '../../schemas/topics.ts';
import { checkEveryManifest, emptyDatabase, openDatabase } from '../sets/database.ts';
import { keyed, numberedDevices, onePart, testPlacement } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { aJob } from '../support/recording-environment.ts';
import { slotTarget } from '../support/slot-target.ts';

const database = openDatabase();
const SLOT = 3;
const REQUEST = 5;
const ATTRIBUTE = 9;
const { hash: hashDevice } = testPlacement;
const inAudience = [1, 2].map((audience) => spaces.audience(audience, 1));

beforeEach(() => emptyDatabase(database.db));

/** 20 devices in two audiences and the marketplace; 5 of them are asked for. */
async function openScene(privacy: JobMarker['privacy'] = 'delete') {
  const { db } = database;
  const [stores, sets] = [createStores(db), createDeviceSets(db)];
  const devices = keyed({ devices: numberedDevices(0, 20), key: ATTRIBUTE });
  for (const [n, space] of [spaces.marketplace, ...inAudience].entries())
    await sets.merge(
      slotTarget({ space, slot: SLOT, job: n + 1, matchIn: spaces.marketplace }),
      onePart(devices),
    );
  for (const audience of [1, 2]) await stores.audiences.ensure(aJob({ _id: audience, audience }));
  const gatherParts = createGatherParts({ ...stores, hashDevice });
  const serve = createServeRequest({ ...stores, sets, hashDevice, gatherParts, secret: Buffer.alloc(32) });
  const dropJob = createDropJob({ ...stores, sets, dropRequest: createDropRequest({ ...stores, sets }) });
  const marker = markerOf({ job: REQUEST, kind: 'privacy', privacy, partner: EVERYONE, files_counted: true });
  const serving = () => {
    const uncommitted = createUncommitted();
    const groups = encodeGroups([{ key: '', devices: numberedDevices(0, 5) }]);
    uncommitted.add({ job: REQUEST, file: 0, batch: 0, slot: SLOT, part: 0, groups }, 0n);
    const committed = createCommittedJobs(new Map([[SLOT, { last: 3, open: new Set() }]]));
    return { slots: [SLOT], committed, uncommitted };
  };
  /** Fails before a step, or before its n-th time. */
  function failingStep(at: string, times = 1): SinkStep {
    const step = recordedStep('sink');
    let left = times;
    const failing = async <T>(name: string, work: () => Promise<T>) => {
      if (name === at && --left <= 0) throw new Error('failed');
      return step(name, work);
    };
    return Object.assign(failing, { ...step }) as SinkStep;
  }
  return {
    fail: (at: string, times?: number) =>
      expect(serve(marker, serving(), failingStep(at, times))).rejects.toThrow('failed'),
    serve: () => serve(marker, serving(), recordedStep('sink')),
    async drop() {
      await dropJob({ ...marker, request: 'drop' }, [SLOT], serving().committed, recordedStep('sink'));
      const [ack] = await stores.acks.ofJob(REQUEST);
      return {
        dropped: ack!.dropped ?? false,
        found: ack!.uniqueDevices,
        audiences: ack!.audiences
          ? [...unpackNumbers(ack!.audiences.buffer, 4)].map((row) => [...row]).sort()
          : [],
        attributes: ack!.attributePairs ? [...unpackCounts(ack!.attributePairs.buffer)] : [],
      };
    },
    counts: () => Promise.all([...inAudience, spaces.marketplace].map(sets.count)),
    suppress: () => {
      const wanted = keyed({ devices: numberedDevices(0, 5) });
      const digests = keyed({ devices: shortDigestsOf(wanted), key: 4 });
      const target = { space: spaces.suppressed(), slot: SLOT, job: 4, partner: EVERYONE };
      return sets.merge(slotTarget(target), onePart(digests));
    },
  };
}

describe('a deletion that is dropped', () => {
  it('when everything is removed but not acknowledged: all of it is counted', async () => {
    const { fail, drop, counts } = await openScene();
    await fail('erase-rows');
    expect(await counts()).toEqual([15, 15, 15]);
    expect(await drop()).toEqual({
      dropped: true,
      found: 5,
      audiences: [
        [1, 1, 5, 5],
        [2, 1, 5, 5],
      ],
      attributes: [[ATTRIBUTE, 5]],
    });
  });

  it('between two audiences: what is removed is counted, and an owner that was replaced removes no more', async () => {
    const { fail, drop, counts, serve } = await openScene();
    await fail('erase', 2);
    const before = await counts();
    expect([...before].sort()).toEqual([15, 20, 20]);
    const removedFrom = before.indexOf(15) + 1;
    expect(await drop()).toEqual({
      dropped: true,
      found: 5,
      audiences: [[removedFrom, 1, 5, 5]],
      attributes: [],
    });
    await serve();
    expect(await counts()).toEqual(before);
    expect(await checkEveryManifest(database.db)).toEqual([]);
  });

  it('before anything is removed: nothing is, not even by an owner that was replaced', async () => {
    const { fail, drop, counts, serve } = await openScene();
    await fail('keep-result');
    expect(await drop()).toEqual({ dropped: true, found: 0, audiences: [], attributes: [] });
    await serve();
    expect(await counts()).toEqual([20, 20, 20]);
  });
});

it('a restore that is dropped when a slot has carried it out: it counts', async () => {
  const { fail, drop, suppress } = await openScene('restore');
  await suppress();
  await fail('ack');
  expect(await drop()).toMatchObject({ dropped: false, found: 5 });
});
