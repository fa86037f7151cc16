import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { useSharedService } from '../support/fixture.ts';
import { setNames } from '../support/stored-sets.ts';

const { driver } = await useSharedService();

const ids = (count: number) => Array.from({ length: count }, () => randomUUID());
const packed = (list: string[]) => new Set(list.map((id) => id.replaceAll('-', '').toLowerCase()));

describe('the whole flow', () => {
  it('imports one small file into its attributes', async () => {
    const partner = await driver.partner();
    const attribute = await driver.attribute(partner);
    const devices = ids(1_000);
    const rows = [
      ...devices,
      ...devices.slice(0, 200),
      '00000000-0000-0000-0000-000000000000',
      'no identifier',
    ];
    await driver.upload(partner, 'a.csv', rows.map((id) => `${id},${attribute}\n`).join(''));
    const job = await driver.ended(await driver.import(partner, 'a.csv'));
    expect(job).toMatchObject({ status: 2, rows: 1_202, uniqueDevices: 1_000, errors: null });
    expect(await driver.members(setNames.attribute(attribute))).toEqual(packed(devices));
    const [file] = await driver.filesOf(job._id);
    expect(file).toMatchObject({
      status: 2,
      rows: 1_202,
      accepted: 1_200,
      duplicates: 200,
      rejected: { opted_out: 1, bad_identifier: 1 },
    });
  });

  it('loads an audience from a prefix of plain and gzip files, with events', async () => {
    const partner = await driver.partner();
    const attribute = await driver.attribute(partner);
    const [one, two] = [ids(3_000), ids(2_000)];
    await driver.upload(
      partner,
      'attribute.csv',
      one
        .slice(0, 500)
        .map((id) => `${id},${attribute}\n`)
        .join(''),
    );
    await driver.import(partner, 'attribute.csv');
    await driver.upload(partner, 'aud/1.csv', one.map((id) => `${id},buy\n`).join(''));
    await driver.upload(
      partner,
      'aud/2.csv.gz',
      gzipSync([...two, ...one.slice(0, 100)].map((id) => `${id.toUpperCase()},\n`).join('')),
    );
    const id = await driver.createAudience(partner, 'aud/');
    expect(await driver.ended(id)).toMatchObject({ status: 2, rows: 5_100, uniqueDevices: 5_000 });
    expect(await driver.audiences.findOne({ _id: id })).toMatchObject({
      uniqueDevices: 5_000,
      uploadedDevices: 5_100,
      matchedDevices: 500,
      outcome: 2,
    });
    expect(await driver.members(setNames.event(id, 1, 'buy'))).toEqual(packed(one));
  });

  it('says why a path matches nothing', async () => {
    const partner = await driver.partner();
    const job = await driver.ended(await driver.import(partner, 'nothing/', { compressed: false }));
    expect(job).toMatchObject({ status: 3, errors: [{ code: 'no_files' }] });
  });
});
