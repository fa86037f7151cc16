/** A slot acknowledges a deletion once the devices are gone; repeated after a crash, the deletion returns the first count. */
import { expect, it } from 'vitest';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createCommittedJobs } from '../../pipeline/stages/sink/committed-jobs.ts';
import { targetOf } from '../../pipeline/stages/sink/drop-job.ts';
import { createRemoveAttributes } from '../../pipeline/stages/sink/remove-attributes.ts';
import { createAckStore } from '../../pipeline/stores/acks.ts';
import { openDatabase } from '../sets/database.ts';
import { keyed, numberedDevices, onePart } from '../sets/devices.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { createStoredSets, setNames } from '../support/stored-sets.ts';

const database = openDatabase();
const JOB = 9;
const SLOT = 3;
const marker = markerOf({ job: JOB, kind: 'delete', passed: [], attributes: [1, 2] });

it('removes, and only then acknowledges; begun again, it tells the first count', async () => {
  const { db } = database;
  const sets = createDeviceSets(db);
  const acks = createAckStore(db);
  const stored = keyed(...[1, 2, 3].map((key) => ({ key, devices: numberedDevices(0, 100 * key) })));
  const committed = () => createCommittedJobs(new Map([[SLOT, { last: 8, open: new Set() }]]));
  await sets.merge(targetOf([markerOf({ job: 8 })], SLOT, committed()), onePart(stored));
  const acknowledged = async () => (await acks.countByJob([JOB])).get(JOB) ?? 0;
  let crashes = true;
  const removeAttributes = createRemoveAttributes({
    acks,
    sets: {
      async removeKeys(target, keys) {
        const removed = await sets.removeKeys(target, keys);
        expect(await acknowledged()).toBe(0);
        if (crashes) throw new Error('a crash');
        return removed;
      },
    },
  });
  const run = () => removeAttributes(marker, [SLOT], committed(), recordedStep('sink'));

  await expect(run()).rejects.toThrow('a crash');
  expect(await createStoredSets(db).count(setNames.attribute(2))).toBe(0);
  crashes = false;
  await run();
  expect(await acknowledged()).toBe(1);
  expect(await acks.ofJob(JOB)).toMatchObject([{ slot: SLOT, uniqueDevices: 200, pairs: 300 }]);
  expect(await createStoredSets(db).count(setNames.attribute(3))).toBe(300);
  expect((await acks.committedJobs([SLOT])).get(SLOT)).toBe(JOB);
});
