/** New, repeated and rejected devices of each load, through REST, compared with plain sets. */
import { expect } from 'vitest';
import { audienceLoadDetails } from '../../schemas/http-answers.ts';
import { AUDIENCE, createCaller } from '../api/support.ts';
import { withSharedService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';

const test = withSharedService();

test('new and repeated devices, rows by outcome, also across a failed load and a clear', async ({
  service,
  driver,
}) => {
  const partner = await driver.partner();
  const { key } = await driver.stores.apiKeys.create(service.config.secret, partner._id);
  const call = createCaller(service.apiUrl, key);
  const devices = ids(900);
  const zeros = '00000000-0000-0000-0000-000000000000';
  const part = (from: number, to: number) => devices.slice(from, to);

  let audience = 0;
  let held = new Set<string>();
  let uploads = 0;
  async function load(content: string): Promise<number> {
    const file_path = `${++uploads}.csv`;
    await driver.upload(partner, file_path, content);
    if (audience === 0) {
      audience = (await call('POST', AUDIENCE, { body: { name: 'n', file_path } })).json.audience_id;
      return audience;
    }
    const { headers } = await call('PATCH', `${AUDIENCE}/${audience}`, { body: { file_path } });
    return Number(headers.get('location')!.split('/').at(-1));
  }
  const loadOf = async (id: number) =>
    audienceLoadDetails.parse((await call('GET', `${AUDIENCE}/${audience}/loads/${id}`)).json);
  const ended = (id: number) =>
    waitFor(
      async () => {
        const record = await loadOf(id);
        return record.status >= 2 && record.new_devices !== null ? record : undefined;
      },
      { what: `the end of load ${id}` },
    );

  async function expectLoaded(
    given: string[],
    rejected: Record<string, number>,
    extra: string,
  ): Promise<void> {
    const before = held.size;
    held = new Set([...held, ...given]);
    const { status, ...record } = await ended(await load(file(given, 'seen') + extra));
    const rejects = Object.values(rejected).reduce((sum, count) => sum + count, 0);
    expect(status).toBe(2);
    expect(record).toMatchObject({
      total_rows: given.length + rejects,
      rows_accepted: given.length,
      rows_rejected: rejected,
      unique_devices: new Set(given).size,
      new_devices: held.size - before,
      audience_devices: held.size,
    });
  }

  await expectLoaded([...part(0, 300), ...part(0, 20)], { opted_out: 2 }, `${zeros},a\n${zeros},b\n`);
  await expectLoaded(part(200, 500), { bad_identifier: 3 }, 'x,a\ny,b\nz,c\n');
  await expectLoaded(part(100, 400), {}, '');

  const failed = await ended(await load(`${file(part(600, 650), 'seen')}one column\n`));
  expect(failed).toMatchObject({ status: 3, new_devices: 0, audience_devices: held.size, rows_accepted: 0 });
  await expectLoaded(part(450, 700), {}, '');

  await call('PUT', `${AUDIENCE}/${audience}`);
  held = new Set();
  await expectLoaded(part(0, 50), {}, '');
  await expectLoaded(part(0, 60), {}, '');
  const { json } = await call('GET', `${AUDIENCE}/${audience}`);
  expect(json.unique_devices).toBe(held.size);
});
