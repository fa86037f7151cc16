/** An installation with 64 slots, each with its own partition, is as exact as one with 16. The number of slots cannot change later. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { anyFreePort } from '../../deploy/local/ports.ts';
import { collections, spaces } from '../../schemas/documents.ts';
import { readReport } from '../api/composition-scene.ts';
import { createCaller } from '../api/support.ts';
import { fromHex, numberedDevice } from '../sets/devices.ts';
import { withService } from '../support/fixture.ts';
import { runHeadrace } from '../support/run-headrace.ts';
import { expected, observed } from './sequences/compare.ts';
import { runSequence } from './sequences/run-sequence.ts';
import { sequence } from './sequences/sequence.ts';

const SLOTS = 64;
const DEVICES = 2_000;
const KNOWN = 500;
const env = {
  HEADRACE_SLOTS: String(SLOTS),
  HEADRACE_PARTITIONS: String(SLOTS),
  HEADRACE_TEST_BATCH_BYTES: '4000',
};
const test = withService({ env });

const identifier = (number: number) =>
  numberedDevice(number).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
const fileOf = (count: number, value: string | number) =>
  Array.from({ length: count }, (_, n) => `${identifier(n)},${value}\n`).join('');

test('random sequences end as the oracle says', async ({ driver }) => {
  const seed = Number(process.env.HEADRACE_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.info(`HEADRACE_TEST_SEED=${seed} repeats this run`);
  const lanes = fc
    .sample(sequence, { seed, numRuns: 2 })
    .map((rounds) =>
      runSequence(driver, rounds, async ({ oracle }) =>
        expect(await observed(driver, oracle)).toEqual(expected(oracle)),
      ),
    );
  await Promise.all(lanes);
});

test('devices are in all slots, and are found, counted and reported', async ({ service, driver }) => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  await driver.upload(partner, 'known.csv', fileOf(KNOWN, attribute));
  await driver.upload(partner, 'audience.csv', fileOf(DEVICES, 'seen'));
  await driver.ended(await driver.import(partner, 'known.csv'));
  const audience = await driver.createAudience(partner, 'audience.csv');
  expect(await driver.ended(audience)).toMatchObject({ status: 2, uniqueDevices: DEVICES });

  const space = spaces.audience(audience, 1);
  const slots = await driver.db.collection(collections.manifests).distinct('slot', { space });
  expect(slots).toHaveLength(SLOTS);
  const { sets, apiKeys } = createApiStores(driver.db);
  expect(await sets.count(space)).toBe(DEVICES);
  for (const number of [0, KNOWN - 1, DEVICES - 1]) {
    const found: string[] = [];
    for await (const one of sets.find(fromHex([numberedDevice(number)]))) found.push(one.space);
    expect(found).toContain(space);
  }
  const { key } = await apiKeys.create(driver.config.secret, partner._id);
  const report = await readReport(createCaller(service.apiUrl, key), audience);
  expect(report.json).toMatchObject({ unique_devices: DEVICES, matched_devices: KNOWN });
});

test('another number than the data was written with is refused, and both are named', async ({ service }) => {
  const other = { HEADRACE_SLOTS: '16', HEADRACE_PARTITIONS: '4' };
  const port = { HEADRACE_PIPELINE_PORT: String(await anyFreePort()) };
  const { code, stdout, stderr } = await runHeadrace(['pipeline'], { ...service.env, ...other, ...port });
  expect(stdout + stderr).toContain(
    'HEADRACE_SLOTS: the data in MongoDB was written with 64 slots, not 16: set it to 64',
  );
  expect(code).toBe(1);
});
