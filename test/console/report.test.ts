/** The composition report in a real browser, on the real service: it matches plain sets. */
import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { AUDIENCE } from '../api/support.ts';
import { eventually } from '../support/eventually.ts';
import { withService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { expectGoodLooks } from './support/accessible.ts';
import { useBrowser } from './support/browser.ts';
import { createScene, figure, rowsOf, shows } from './support/scene.ts';

const test = withService();
const browser = useBrowser();
const zeros = '00000000-0000-0000-0000-000000000000';
const number = (value: number) => new Intl.NumberFormat('en').format(value);
const percent = (share: number) => `${Math.round(share * 1000) / 10}%`;

/** The CSV file that a button of the page saves. */
async function savedBy(page: Page, click: () => Promise<void>): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  return readFile(await download.path(), 'utf8');
}
const csvOf = async (page: Page, caption: string): Promise<string[][]> =>
  parse(
    await savedBy(page, () => page.getByRole('button', { name: `Download ${caption} as CSV` }).click()),
  ) as string[][];

/** The widths of a column's bars, as a share of the column. */
const barsOf = (page: Page, caption: string, column: string): Promise<number[]> =>
  page
    .getByRole('table', { name: caption })
    .locator(`td.column-${column} .bar`)
    .evaluateAll((bars) =>
      bars.map((bar) => {
        const fill = bar.firstElementChild?.getBoundingClientRect().width ?? 0;
        return fill / bar.getBoundingClientRect().width;
      }),
    );

/** The lengths of the index bars from the middle, as a share of the half; negative to the left. */
const indexBars = (page: Page): Promise<number[]> =>
  page.locator('.diverging-bar').evaluateAll((bars) =>
    bars.map((bar) => {
      const place = bar.getBoundingClientRect();
      const fill = bar.firstElementChild!.getBoundingClientRect();
      const middle = place.left + place.width / 2;
      return (fill.left + fill.right - 2 * middle > 0 ? 1 : -1) * (fill.width / (place.width / 2));
    }),
  );

test('numbers, tables, charts, comparison, downloads and print of a report', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const devices = ids(2_000);
  // Nine attributes: enough for the search field to appear.
  const attributes = new Map(
    [...'ABCDEFGHI'].map((letter, i) => [
      i === 0 ? 'Letters > Attribute A' : `Attribute ${letter}`,
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
  await scene.append(
    audience,
    'week-2.csv',
    file(own.slice(900, 1_350), 'visit') + file(own.slice(1_350), ''),
  );
  const subscribers = devices.slice(1_500);
  const other = await scene.create('Subscribers', 'other.csv', file(subscribers, ''), 'acme');
  await scene.loaded(other);

  const page = await browser.open({ timezone: 'Asia/Tokyo' });
  await page.goto(`${scene.reportOf(audience)}?token=${await scene.tokenOf('acme')}`);
  await page.getByRole('heading', { level: 1, name: 'Spring visitors' }).waitFor();
  const marketplace = new Set([...attributes.values()].flatMap((held) => [...held]));
  const matched = own.filter((id) => marketplace.has(id)).length;
  await shows(page, 'Matched devices', number(matched));
  await shows(page, 'Unique devices', number(own.length));
  await shows(page, 'Uploaded devices', number(1_050 + 500));
  await shows(page, 'Rows read', number(1_052 + 500));
  await shows(page, 'Match rate', percent(matched / own.length));

  // Hidden from customers: where the files are, and commands for them.
  const text = await page.locator('main').textContent();
  for (const hidden of ['curl', scene.prefix, 'week-1.csv', 'Next steps']) expect(text).not.toContain(hidden);

  const compared = (of: string[]) =>
    [...attributes].map(([name, held]) => {
      const common = of.filter((id) => held.has(id)).length;
      const usual = held.size / marketplace.size;
      const expected = of.length * usual;
      const isChance = Math.abs(common - expected) < 2 * Math.sqrt(expected);
      const index = (100 * (common / of.length)) / usual;
      return {
        name: name.split(' > ').at(-1)!,
        category: name.split(' > ').slice(0, -1).join(),
        common,
        index,
        share: common / of.length,
        strength: common === 0 || isChance ? 0 : Math.round(1_000 * Math.abs(Math.log(index / 100))),
      };
    });
  const expected = compared(own)
    .filter(({ common }) => common > 0)
    .sort((a, b) => b.strength - a.strength || b.common - a.common || (a.name < b.name ? -1 : 1));
  const caption = 'Composition by attribute';
  const attributeRows = async () =>
    (await rowsOf(page, caption)).map(([name, ...rest]) => [name!.split('\n')[0], ...rest]);
  await eventually(attributeRows).toEqual(
    expected.map(({ name, category, common, share, index }) => [
      name,
      category,
      scene.owner,
      number(common),
      percent(share),
      index < 10 ? index.toFixed(1) : String(Math.round(index)),
    ]),
  );
  const closeTo = (values: number[], wanted: number[]) => {
    expect(values).toHaveLength(wanted.length);
    for (const [i, value] of values.entries()) expect(value).toBeCloseTo(wanted[i]!, 1);
  };
  closeTo(
    await barsOf(page, caption, 'share'),
    expected.map(({ share }) => share),
  );
  closeTo(
    await indexBars(page),
    expected.map(({ index }) => Math.max(-1, Math.min(1, Math.log(index / 100) / Math.log(4)))),
  );
  await eventually(() => rowsOf(page, 'Events')).toEqual([
    ['visit', number(1_350), number(1_450), percent(1_350 / own.length)],
    ['(no event)', '50', '50', percent(50 / own.length)],
    ['purchase', '50', '50', percent(50 / own.length)],
  ]);
  const shared = own.filter((id) => subscribers.includes(id)).length;
  const overlap = 'Overlap with other audiences';
  await eventually(() => rowsOf(page, overlap)).toEqual([
    ['Subscribers', number(shared), percent(shared / own.length), percent(shared / 500)],
  ]);
  closeTo(await barsOf(page, overlap, 'share'), [shared / own.length]);
  closeTo(await barsOf(page, overlap, 'share-other'), [shared / 500]);
  const picture = `Spring visitors: ${number(own.length)} devices; Subscribers: 500; in both: ${number(shared)}`;
  await page.getByRole('img', { name: picture }).waitFor();

  // The growth chart: by load, inside its grid, with a point's numbers beside it.
  const growth = async () =>
    (await rowsOf(page, 'Growth by load')).map(([, status, fresh, repeated]) => [status, fresh, repeated]);
  await eventually(growth).toEqual([
    ['Done', '400', '100'],
    ['Done', number(1_000), '0'],
  ]);
  const chart = page.getByRole('slider', { name: 'Growth by load' });
  await chart.scrollIntoViewIfNeeded();
  const dots = await chart.locator('.chart-dot').all();
  expect(dots).toHaveLength(2);
  const boxes = await Promise.all(dots.map((dot) => dot.boundingBox().then((box) => box!)));
  const grid = await chart.locator('.chart-grid').first().boundingBox();
  for (const box of boxes) {
    expect(box.y + box.height / 2).toBeGreaterThanOrEqual(grid!.y);
    expect(box.y + box.height / 2).toBeLessThanOrEqual(grid!.y + grid!.height);
  }
  const loads = (await scene.call('GET', `${AUDIENCE}/${audience.audience_id}/loads`)).json;
  const names = loads.map(({ load_id }: { load_id: number }) => `Load ${load_id}`).reverse();
  const labels = await chart
    .locator('.chart-name')
    .evaluateAll((all) =>
      all.map((one) => one.textContent!.slice(0, -one.lastElementChild!.textContent!.length)),
    );
  expect(labels).toEqual(names);
  const [first] = boxes;
  await page.mouse.move(first!.x + first!.width / 2 + 40, first!.y + 60);
  const label = page.locator('.chart-label');
  await label.getByText(`${number(1_000)} devices`).waitFor();
  await label.getByText('2 rows rejected').waitFor();
  const place = (await label.boundingBox())!;
  expect(place.x - (first!.x + first!.width)).toBeLessThan(20);
  expect(Math.abs(place.y - first!.y)).toBeLessThan(40);
  await page.mouse.move(0, 0);
  await label.waitFor({ state: 'detached' });
  await chart.press('End');
  await label.getByText(`${number(own.length)} devices`).waitFor();
  expect(await chart.getAttribute('aria-valuetext')).toContain('400 new, 100 already in audience');

  // The report's time is in the reader's time zone; a refresh computes the report again.
  const composition = `${AUDIENCE}/${audience.audience_id}/composition`;
  const computedAt = async () => (await scene.call('GET', composition)).json.computed_at as string;
  const before = await computedAt();
  const bar = page.locator('.report-bar time');
  const clock = (time: string) =>
    new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'Asia/Tokyo' }).format(
      new Date(time),
    );
  expect(await bar.textContent()).toContain(clock(before));
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.locator(`.report-bar time:not([datetime="${before}"])`).waitFor();
  await eventually(async () => (await bar.getAttribute('datetime')) === (await computedAt())).toBe(true);

  const table = page.getByRole('table', { name: caption });
  await table.getByRole('button', { name: 'Attribute' }).click();
  await table.locator('th[aria-sort=ascending]').waitFor();
  const shownNames = async () => (await attributeRows()).map(([name]) => name);
  await eventually(shownNames).toEqual([...expected.map(({ name }) => name)].sort());
  await page.getByLabel(`Search ${caption}`).fill('attribute c');
  await page.getByText(`1 of ${expected.length} attributes`).waitFor();
  await eventually(shownNames).toEqual(['Attribute C']);
  const [header, ...found] = await csvOf(page, caption);
  expect(header).toEqual(['Attribute', 'Category', 'Owner', 'Devices', 'Share', 'Index']);
  expect(found.map(([name, , , count]) => [name, count])).toEqual([
    ['Attribute C', String(expected.find(({ name }) => name === 'Attribute C')!.common)],
  ]);
  await page.getByLabel(`Search ${caption}`).fill('');
  expect((await csvOf(page, 'Events')).slice(1)).toEqual([
    ['visit', '1350', '1450', String(1_350 / own.length)],
    ['(no event)', '50', '50', String(50 / own.length)],
    ['purchase', '50', '50', String(50 / own.length)],
  ]);
  expect((await csvOf(page, overlap)).slice(1)).toEqual([
    ['Subscribers', String(shared), String(shared / own.length), String(shared / 500)],
  ]);
  expect((await csvOf(page, 'Growth by load')).slice(1).map((cells) => cells.slice(1, 5))).toEqual([
    ['400', '100', '0', '1400'],
    ['1000', '0', '2', '1000'],
  ]);
  const csv = await savedBy(page, () => page.getByRole('link', { name: 'Download CSV' }).click());
  for (const { name, common } of expected)
    expect(csv).toMatch(new RegExp(`${name},${scene.owner},public,${common},`));

  // In print: light, without buttons, and with all rows.
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await eventually(() => page.getByRole('button', { name: 'Refresh' }).isVisible()).toBe(false);
  expect(await page.getByRole('navigation').first().isVisible()).toBe(false);
  expect(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe(
    'rgb(255, 255, 255)',
  );
  await eventually(async () => (await attributeRows()).length).toBe(expected.length);
  const pdf = await page.pdf({ preferCSSPageSize: true });
  expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
  await page.emulateMedia({ media: null, colorScheme: null });

  // Two audiences side by side.
  await page.getByLabel('Compare with').selectOption('Subscribers');
  await page.getByRole('heading', { name: 'Compared with Subscribers' }).waitFor();
  const theirs = new Map(compared(subscribers).map(({ name, share }) => [name, share]));
  const points = new Intl.NumberFormat('en', { maximumFractionDigits: 1, signDisplay: 'exceptZero' });
  const pairs = compared(own)
    .map(({ name, share }) => ({ name, share, their: theirs.get(name)! }))
    .filter(({ share, their }) => share > 0 || their > 0)
    .sort((a, b) => Math.abs(b.share - b.their) - Math.abs(a.share - a.their) || (a.name < b.name ? -1 : 1));
  const comparedRows = async () =>
    (await rowsOf(page, 'Compared attributes')).map(([name, ...rest]) => [
      name!.split('\n')[0]!.split(' > ').at(-1),
      ...rest,
    ]);
  await eventually(comparedRows).toEqual(
    pairs.map(({ name, share, their }) => [
      name,
      percent(share),
      percent(their),
      points.format((share - their) * 100),
    ]),
  );
  await page.getByRole('img', { name: picture }).waitFor();
  await page.getByRole('link', { name: 'Back to the report' }).click();
  await shows(page, 'Unique devices', number(own.length));

  // The partner sees the files, too. Changes elsewhere in the marketplace do not make its report outdated.
  const partner = await browser.open();
  await scene.signIn(partner);
  let reads = 0;
  await partner.route(`**${composition}*`, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    reads++;
    await route.fulfill({ response, json: response.status() === 200 ? { ...json, current: false } : json });
  });
  await partner.goto(scene.reportOf(audience));
  await shows(partner, 'Matched devices', number(matched));
  await partner.getByText(/^as of /).waitFor();
  expect(await partner.locator('.figure-outdated').count()).toBe(0);
  expect(reads).toBeGreaterThan(0);
  await partner.getByRole('heading', { name: 'Next steps' }).waitFor();
  const rejects = await savedBy(partner, () =>
    partner.getByRole('link', { name: 'Download rejected rows' }).click(),
  );
  const lines = rejects
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ line, code }) => [line, code])).toEqual([
    [1_051, 'bad_identifier'],
    [1_052, 'opted_out'],
  ]);
  const files = await csvOf(partner, 'Files');
  expect(files.slice(1).map(([path, , rows]) => [path, rows])).toEqual([
    [`${scene.prefix}week-1.csv`, '1052'],
    [`${scene.prefix}week-2.csv`, '500'],
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
  await expectGoodLooks(page, 'audiences-pending');
  await row.getByRole('link', { name: 'Watched' }).click();
  await page.getByRole('heading', { level: 1, name: 'Watched' }).waitFor();
  await figure(page, 'Unique devices').getByText('–').waitFor();
  await page.locator('.head-state .status').getByText('Pending').waitFor();
  await expectGoodLooks(page, 'report-pending');

  await service.restart('pipeline');
  await page.locator('.head-state').getByText('Done').waitFor();
  await shows(page, 'Unique devices', '400');
  await page
    .locator('.report-bar')
    .getByText(/^as of /)
    .waitFor();
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
  await expectGoodLooks(page, 'report-connection-lost');
  await service.restart('api');
  await page.getByText('Connection lost').waitFor({ state: 'detached' });
  await scene.append(audience, 'kept-2.csv', file(ids(200), ''));
  await shows(page, 'Unique devices', '500');
});
