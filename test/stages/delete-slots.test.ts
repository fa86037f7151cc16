/** A slot says that a deletion is done when the devices are gone, not when they are counted. */
import { expect, it } from 'vitest';
import { createRemoveAttributes } from '../../pipeline/stages/sink/remove-attributes.ts';
import { createAckStore } from '../../pipeline/stores/acks.ts';
import { setNames } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';
import { numberedDevices } from '../sets/devices.ts';
import { createCountedSets } from '../support/counted-sets.ts';
import { markerOf } from '../support/markers.ts';
import { recordedStep } from '../support/recorded-step.ts';

const database = openDatabase();
const JOB = 9;
const marker = markerOf({ job: JOB, kind: 'delete', passed: [], attributes: [1, 2] });

it('counts, removes, and only then acknowledges; begun again, it tells the first count', async () => {
  const { db } = database;
  const sets = createCountedSets(db);
  const acks = createAckStore(db);
  const owned = async () => true;
  for (const attribute of marker.attributes) {
    const devices = numberedDevices(0, 100 * attribute);
    await sets.add([{ set: setNames.attribute(attribute), slot: 3, devices }], owned);
  }
  const log: string[] = [];
  const acknowledged = async () => (await acks.countByJob([JOB])).get(JOB) ?? 0;
  let crashes = true;
  const removeAttributes = createRemoveAttributes({
    acks,
    sets: {
      ...sets,
      async drop(names, slot, fence) {
        log.push(`${await acknowledged()} acknowledged before the drop`);
        const dropped = await sets.drop(names, slot, fence);
        log.push(`${await acknowledged()} acknowledged after the drop`);
        if (crashes) throw new Error('a crash');
        return dropped;
      },
    },
  });
  const run = () => removeAttributes(marker, [3], recordedStep('sink'));

  await expect(run()).rejects.toThrow('a crash');
  expect(await acknowledged()).toBe(0);
  crashes = false;
  await run();
  expect(log).toEqual(
    Array(2).fill(['0 acknowledged before the drop', '0 acknowledged after the drop']).flat(),
  );
  expect(await acknowledged()).toBe(1);
  expect(await acks.ofJob(JOB)).toMatchObject([{ slot: 3, uniqueDevices: 200, pairs: 300 }]);
  expect(await sets.count(setNames.attribute(2))).toBe(0);
  expect((await acks.committedJobs([3])).get(3)).toBe(JOB);
});
