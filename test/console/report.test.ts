/** The composition report in a real browser, on the real service: what it shows is what plain sets say. */
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { withService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { useBrowser } from './support/browser.ts';
import { createScene, figure, rowsOf, shows } from './support/scene.ts';

const test = withService();
const browser = useBrowser();
const zeros = '00000000-0000-0000-0000-000000000000';
const number = (value: number) => new Intl.NumberFormat('en').format(value);
const percent = (share: number) => `${Math.round(share * 1000) / 10}%`;

test('numbers, tables, search, sorting and downloads of a report', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const devices = ids(2_000);
  // Nine attributes: enough for the search to be there.
  const attributes = new Map(
    [...'ABCDEFGHI'].map((letter, i) => [
      `Attribute ${letter}`,
      new Set(devices.slice(i * 100, 700 + i * 60)),
    ]),
  );
  await scene.attributes(attributes);
  const own = devices.slice(500, 1_900);
  const audience = await scene.create(
    'Spring visitors',
    'week-1.csv',
    file(own.slice(0, 1_000), 'visit') +
      `${file(own.slice(0, 50), 'purchase')}nobody,visit\n${zeros},visit\n`,
    'acme',
  );
  await scene.loaded(audience);
  await scene.append(audience, 'week-2.csv', file(own.slice(900), 'visit'));
  const other = await scene.create('Subscribers', 'other.csv', file(devices.slice(1_500), ''), 'acme');
  await scene.loaded(other);

  const page = await browser.open();
  await page.goto(`${scene.reportOf(audience)}?token=${await scene.tokenOf('acme')}`);
  await page.getByRole('heading', { level: 1, name: 'Spring visitors' }).waitFor();
  const marketplace = new Set([...attributes.values()].flatMap((held) => [...held]));
  const matched = own.filter((id) => marketplace.has(id)).length;
  await shows(page, 'Matched devices', number(matched));
  await shows(page, 'Unique devices', number(own.length));
  await shows(page, 'Uploaded devices', number(1_050 + 500));
  await shows(page, 'Rows read', number(1_052 + 500));
  await shows(page, 'Match rate', percent(matched / own.length));

  const expected = [...attributes]
    .map(([name, held]) => {
      const common = own.filter((id) => held.has(id)).length;
      const index = (100 * (common / own.length)) / (held.size / marketplace.size);
      return {
        name,
        common,
        cells: [name, scene.owner, number(common), percent(common / own.length), String(Math.round(index))],
      };
    })
    .sort((a, b) => b.common - a.common || (a.name < b.name ? -1 : 1));
  const caption = 'Composition by attribute';
  const withoutIds = async () =>
    (await rowsOf(page, caption)).map(([name, ...rest]) => [name!.split('\n')[0], ...rest]);
  await eventually(withoutIds).toEqual(expected.map(({ cells }) => cells));
  await eventually(() => rowsOf(page, 'Events')).toEqual([
    ['visit', number(own.length), number(1_500)],
    ['purchase', '50', '50'],
  ]);
  const shared = own.filter((id) => devices.indexOf(id) >= 1_500).length;
  await eventually(() => rowsOf(page, 'Overlap with other audiences')).toEqual([
    ['Subscribers', number(shared), percent(shared / own.length), percent(shared / 500)],
  ]);
  const growth = async () =>
    (await rowsOf(page, 'Growth by load')).map(([, status, fresh, repeated]) => [status, fresh, repeated]);
  await eventually(growth).toEqual([
    ['Done', '400', '100'],
    ['Done', number(1_000), '0'],
  ]);

  const table = page.getByRole('table', { name: caption });
  await table.getByRole('button', { name: 'Attribute' }).click();
  await table.locator('th[aria-sort=ascending]').waitFor();
  const names = async () => (await withoutIds()).map(([name]) => name);
  await eventually(names).toEqual([...attributes.keys()]);
  await page.getByLabel(`Search ${caption}`).fill('attribute c');
  await page.getByText('1 of 9 attributes').waitFor();
  await eventually(names).toEqual(['Attribute C']);

  const save = async (name: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name }).click(),
    ]);
    return readFile(await download.path(), 'utf8');
  };
  const csv = await save('Download CSV');
  for (const { name, common } of expected) expect(csv).toContain(`,${name},${scene.owner},public,${common},`);
  const rejects = await save('Download rejected rows');
  const lines = rejects
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ line, code }) => [line, code])).toEqual([
    [1_051, 'bad_identifier'],
    [1_052, 'opted_out'],
  ]);
});

test('a load goes from pending to done under the eyes of the reader, without a reload', async ({
  service,
  driver,
}) => {
  const scene = await createScene(service, driver);
  const devices = ids(400);
  const page = await browser.open();
  await scene.signIn(page);
  await page.getByText('There are no audiences yet').waitFor();
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));

  await service.kill('pipeline');
  const audience = await scene.create('Watched', 'watched.csv', file(devices, 'visit'));
  const row = page.getByRole('row', { name: /Watched/ });
  await row.getByText('Pending').waitFor();
  await row.getByText('–').first().waitFor();
  await row.getByRole('link', { name: 'Watched' }).click();
  await page.getByRole('heading', { level: 1, name: 'Watched' }).waitFor();
  await figure(page, 'Unique devices').getByText('–').waitFor();
  await page.locator('.head-state .status').getByText('Pending').waitFor();

  await service.restart('pipeline');
  await page.locator('.head-state').getByText('Done').waitFor();
  await shows(page, 'Unique devices', '400');
  await page.locator('.report-bar').getByText('Computed').waitFor();
  expect(await page.evaluate(() => 'sameDocument' in window)).toBe(true);

  await scene.append(audience, 'more.csv', file(ids(100), 'visit'));
  await shows(page, 'Unique devices', '500');
});

test('the API restarts under the page: it says so, and recovers by itself', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const audience = await scene.create('Kept', 'kept.csv', file(ids(300), ''));
  await scene.loaded(audience);
  const page = await browser.open({ tolerated: /Failed to load resource|ERR_/ });
  await scene.signIn(page);
  await page.getByRole('link', { name: 'Kept' }).click();
  await shows(page, 'Unique devices', '300');

  await service.kill('api');
  await page.getByText('Connection lost').waitFor();
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Kept');
  await service.restart('api');
  await page.getByText('Connection lost').waitFor({ state: 'detached' });
  await scene.append(audience, 'kept-2.csv', file(ids(200), ''));
  await shows(page, 'Unique devices', '500');
});
