/**
 * A prefix of many small files is one job and is read to the last file, whichever files fail. There are more files than fit in a
 * page of a listing or in a marker. HEADRACE_TEST_FILES=100000 sets their number.
 */
import { expect, it } from 'vitest';
import { useSharedService } from '../support/fixture.ts';
import { asMembers, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';

const FILES = Number(process.env.HEADRACE_TEST_FILES ?? 1_200);
/** Concurrent uploads. */
const AT_ONCE = 24;
const MS_A_FILE = 40;

const { driver } = await useSharedService();

it(`loads a prefix of ${FILES} files, every second one bad`, {
  timeout: 2_700_000 + 2 * FILES * MS_A_FILE,
}, async () => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const devices = ids(FILES);
  const isBad = (n: number) => n % 2 === 0;
  let next = 0;
  const began = performance.now();
  const uploader = async () => {
    for (let n = next++; n < FILES; n = next++) {
      const row = isBad(n) ? '' : `${devices[n]},${attribute}\n${devices[(n + 1) % FILES]},${attribute}\n`;
      await driver.upload(partner, `many/${String(n).padStart(7, '0')}.csv`, row);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, uploader));
  const uploaded = performance.now();
  const queued = await driver.import(partner, 'many/', { compressed: false });
  const job = await driver.ended(queued);
  const seconds = (from: number, to: number) => `${((to - from) / 1000).toFixed(1)} s`;
  console.info(
    `${FILES} files: uploaded in ${seconds(began, uploaded)}, loaded in ${seconds(uploaded, performance.now())}`,
  );

  expect(job).toMatchObject({ status: 3, fileCount: FILES, filesDone: FILES, rows: FILES });
  expect(job.errors).toHaveLength(101);
  expect(job.errors![0]).toMatchObject({ code: 'empty_file', file: `${partner.prefix}many/0000000.csv` });
  expect(job.errors![100]).toMatchObject({ code: 'empty_file', count: FILES / 2 - 100 });
  const files = await driver.filesOf(queued);
  expect(files.map(({ status, accepted, duplicates }) => [status, accepted, duplicates])).toEqual(
    files.map((_, n) => (isBad(n) ? [3, 0, null] : [2, 2, 0])),
  );
  expect(job.uniqueDevices).toBe(FILES);
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers(devices));
});
