/** Appends merge and deduplicate: loaded files are ignored, failed files are loaded again, changed files count as new. */
import { expect, it } from 'vitest';
import { filesOfAudience } from '../../api/jobs/file-records.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { useSharedService } from '../support/fixture.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';

const { driver } = await useSharedService();

async function audienceOf(partner: PartnerDocument, path: string): Promise<number> {
  const audience = await driver.createAudience(partner, path);
  await driver.ended(audience);
  return audience;
}
const append = async (partner: PartnerDocument, audience: number, path: string) =>
  driver.ended(await driver.append(partner, audience, path));

/** The `file` array of the audience's record. */
async function entries(partner: PartnerDocument, audience: number) {
  const { generation } = (await driver.audiences.findOne({ _id: audience }))!;
  const found: { path: string; status: number; accepted: number }[] = [];
  for await (const { path, status, accepted } of filesOfAudience(driver.stores, audience, generation))
    found.push({ path: path.slice(partner.prefix.length), status, accepted });
  return found;
}
const members = (audience: number, generation = 1) => driver.members(setNames.audience(audience, generation));

it('ignores what is loaded, by path and content, and loads what is new under the same prefix', async () => {
  const partner = await driver.partner();
  const [first, second] = [ids(300), ids(200)];
  await driver.upload(partner, 'p/1.csv', file(first, 'a'));
  const audience = await audienceOf(partner, 'p/');
  expect(await append(partner, audience, 'p/')).toMatchObject({ status: 2, fileCount: 0, rows: 0 });

  await driver.upload(partner, 'p/1.csv', file(first, 'a'));
  await driver.upload(partner, 'p/2.csv', file([...second, ...first.slice(0, 50)], 'a'));
  const added = await append(partner, audience, 'p/');
  expect(added).toMatchObject({ status: 2, fileCount: 1, rows: 250, uniqueDevices: 250 });
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({
    uniqueDevices: 500,
    uploadedDevices: 550,
    outcome: 2,
  });
  expect(await members(audience)).toEqual(asMembers([...first, ...second]));
});

it('two appends of one prefix queued at once load each file once', async () => {
  const partner = await driver.partner();
  await driver.upload(partner, 'p/1.csv', file(ids(20), ''));
  const audience = await audienceOf(partner, 'p/1.csv');
  await driver.upload(partner, 'p/2.csv', file(ids(30), ''));
  const queued = await Promise.all([
    driver.append(partner, audience, 'p/'),
    driver.append(partner, audience, 'p/'),
  ]);
  const jobs = await Promise.all(queued.sort((a, b) => a - b).map((job) => driver.ended(job)));
  expect(jobs.map(({ fileCount }) => fileCount)).toEqual([1, 0]);
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({ uploadedDevices: 50 });
});

it('loads a failed file again: with the same content it fails again, mended it loads', async () => {
  const partner = await driver.partner();
  const good = ids(100);
  await driver.upload(partner, 'p/bad.csv', `${file(good, 'a')}one column\n`);
  await driver.upload(partner, 'p/good.csv', file(good.slice(0, 10), 'a'));
  const audience = await audienceOf(partner, 'p/');
  const failed = { path: 'p/bad.csv', status: 3, accepted: 0 };
  const loaded = { path: 'p/good.csv', status: 2, accepted: 10 };
  expect(await entries(partner, audience)).toEqual([failed, loaded]);
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({ outcome: 3, uniqueDevices: 10 });

  const again = await append(partner, audience, 'p/');
  expect(again).toMatchObject({ status: 3, fileCount: 1, errors: [{ code: 'column_count', line: 101 }] });
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({ outcome: 3, uniqueDevices: 10 });

  await driver.upload(partner, 'p/bad.csv', file(good, 'a'));
  expect(await append(partner, audience, 'p/')).toMatchObject({ status: 2, fileCount: 1, errors: null });
  expect(await entries(partner, audience)).toEqual([{ ...failed, status: 2, accepted: 100 }, loaded]);
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({
    outcome: 2,
    uniqueDevices: 100,
    uploadedDevices: 110,
  });
});

it('takes the same path with new content for a new file, and updates its entry', async () => {
  const partner = await driver.partner();
  const [old, fresh] = [ids(100), ids(40)];
  await driver.upload(partner, 'p.csv', file(old, 'a'));
  const audience = await audienceOf(partner, 'p.csv');
  await driver.upload(partner, 'p.csv', file(fresh, 'b'));
  expect(await append(partner, audience, 'p.csv')).toMatchObject({ status: 2, fileCount: 1, rows: 40 });
  expect(await entries(partner, audience)).toEqual([{ path: 'p.csv', status: 2, accepted: 40 }]);
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({
    uniqueDevices: 140,
    uploadedDevices: 40,
    outcome: 2,
  });
  expect(await members(audience)).toEqual(asMembers([...old, ...fresh]));
});

it('after a clear, files seen before load in full', async () => {
  const partner = await driver.partner();
  const devices = ids(80);
  await driver.upload(partner, 'p/1.csv', file(devices.slice(0, 50), 'a'));
  await driver.upload(partner, 'p/2.csv', file(devices.slice(50), 'a'));
  const audience = await audienceOf(partner, 'p/');
  await driver.clear(partner, audience);
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({
    uniqueDevices: 0,
    uploadedDevices: 0,
    matchedDevices: 0,
    outcome: 2,
  });
  expect(await entries(partner, audience)).toEqual([]);
  expect(await append(partner, audience, 'p/1.csv')).toMatchObject({ status: 2, fileCount: 1, rows: 50 });
  expect(await append(partner, audience, 'p/')).toMatchObject({ status: 2, fileCount: 1, rows: 30 });
  expect(await members(audience, 2)).toEqual(asMembers(devices));
  expect(await driver.members(setNames.event(audience, 2, 'a'))).toEqual(asMembers(devices));
});

it('a load that failed as a whole shows until the same path loads, whatever else loads meanwhile', async () => {
  const partner = await driver.partner();
  await driver.upload(partner, 'p.csv', file(ids(10), ''));
  const audience = await audienceOf(partner, 'p.csv');
  expect(await append(partner, audience, 'q/')).toMatchObject({ status: 3, errors: [{ code: 'no_files' }] });
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({ outcome: 3, uniqueDevices: 10 });
  await driver.upload(partner, 'q/1.csv', file(ids(5), ''));
  for (const path of ['p.csv', 'q/1.csv']) {
    expect(await append(partner, audience, path)).toMatchObject({ status: 2 });
    expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({ outcome: 3 });
  }
  expect(await append(partner, audience, 'q/')).toMatchObject({ status: 2 });
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({ outcome: 2, uniqueDevices: 15 });
});

it('a first load that failed as a whole shows, too; a clear forgets it', async () => {
  const partner = await driver.partner();
  await driver.upload(partner, 'p.csv', file(ids(10), ''));
  const audience = await audienceOf(partner, '$nothing');
  expect(await append(partner, audience, 'p.csv')).toMatchObject({ status: 2 });
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({ outcome: 3, uniqueDevices: 10 });
  await driver.clear(partner, audience);
  expect(await append(partner, audience, 'p.csv')).toMatchObject({ status: 2 });
  expect(await driver.audiences.findOne({ _id: audience })).toMatchObject({ outcome: 2, uniqueDevices: 10 });
});

it('more than 1,000 events count as one, rows without an event among them, however the batches fall', async () => {
  const partner = await driver.partner();
  const devices = ids(1_200);
  const rows = devices.map((id, n) => `${id},${n < 50 ? '' : `event ${n}`}\n`).join('');
  await driver.upload(partner, 'p.csv', rows);
  const audience = await audienceOf(partner, 'p.csv');
  const [loaded] = await driver.filesOf(audience);
  expect(loaded).toMatchObject({ events: [{ event: '(other)', rows: 1_200 }], eventsCollapsed: true });
  expect(await driver.members(setNames.event(audience, 1, '(other)'))).toEqual(asMembers(devices));
});
