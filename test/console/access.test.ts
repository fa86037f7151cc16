/** Access rules of the console, and names crafted to break it. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { sealShareLink } from '../../api/auth/share-links.ts';
import { keyIdOf } from '../../api/stores/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { withSharedService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { expectGoodLooks } from './support/accessible.ts';
import { useBrowser } from './support/browser.ts';
import { createScene, rowsOf, type Scene, shows } from './support/scene.ts';

const test = withSharedService();
const browser = useBrowser();
const hostile = '"><img src=x onerror=alert(1)>';

/** A share link as the API creates it, with another expiry. */
const sharedUntil = (secret: Uint8Array, audience: number, { partner, key }: Scene, expiresAt: number) =>
  sealShareLink(secret, { partner, audience, key: keyIdOf(key)!, expiresAt });

function expectNoDialog(page: Page): void {
  page.on('dialog', (dialog) => {
    throw new Error(`a script has run: ${dialog.message()}`);
  });
}

test('hostile names are text on every page', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const devices = ids(200);
  await scene.attributes(new Map([[hostile, devices]]));
  const audience = await scene.create(
    hostile,
    'audience.csv',
    file(devices, `"${hostile.replace('"', '""')}"`),
  );
  await scene.loaded(audience);
  const page = await browser.open();
  expectNoDialog(page);
  await scene.signIn(page);
  await page.getByRole('link', { name: hostile }).click();
  await page.getByRole('heading', { level: 1, name: hostile }).waitFor();
  await shows(page, 'Matched devices', '200');
  await eventually(async () => (await rowsOf(page, 'Composition by attribute'))[0]![0]).toContain(hostile);
  await eventually(async () => (await rowsOf(page, 'Events'))[0]![0]).toBe(hostile);
  expect(await page.locator('img').count()).toBe(0);
});

test('attributes name their owner, and can be limited to those of the partner', async ({
  service,
  driver,
}) => {
  const [scene, other] = [await createScene(service, driver), await createScene(service, driver)];
  const devices = ids(100);
  await scene.attributes(new Map([['Mine', devices]]));
  await other.attributes(new Map([['Theirs', devices.slice(50)]]));
  const audience = await scene.create('Owned', 'owned.csv', file(devices, 'visit'));
  await scene.loaded(audience);
  const page = await browser.open();
  await scene.signIn(page);
  await page.goto(scene.reportOf(audience));
  const rows = async () =>
    (await rowsOf(page, 'Composition by attribute')).map(([name, owner]) => [name, owner]);
  await eventually(rows).toEqual([
    ['Mine', scene.owner],
    ['Theirs', other.owner],
  ]);
  await page.getByLabel('Only mine').check();
  await eventually(rows).toEqual([['Mine', scene.owner]]);
});

test('a report with many attributes shows more of them as it is scrolled', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const devices = ids(20);
  await scene.attributes(new Map(Array.from({ length: 250 }, (_, i) => [`Attribute ${i}`, devices])));
  const audience = await scene.create('Of many', 'many.csv', file(devices, ''));
  await scene.loaded(audience);
  const page = await browser.open();
  await scene.signIn(page);
  await page.goto(scene.reportOf(audience));
  const caption = 'Composition by attribute';
  const shown = async () => (await rowsOf(page, caption)).length;
  await eventually(shown).toBe(200);
  await page.getByRole('region', { name: caption }).press('End');
  await eventually(shown).toBe(250);
});

test('a customer sees its own audiences; another’s report is not found, like one that does not exist', async ({
  service,
  driver,
}) => {
  const scene = await createScene(service, driver);
  const mine = await scene.create('Of acme', 'mine.csv', file(ids(50), ''), 'acme');
  const theirs = await scene.create('Of zenith', 'theirs.csv', file(ids(50), ''), 'zenith');
  await scene.loaded(theirs);
  const page = await browser.open();
  await page.goto(`${scene.reportOf(mine)}?token=${await scene.tokenOf('acme')}`);
  await page.getByRole('heading', { level: 1, name: 'Of acme' }).waitFor();
  expect(await page.getByRole('link', { name: 'Imports' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Audiences', exact: true }).first().click();
  await page.getByRole('link', { name: 'Of acme' }).waitFor();
  expect(await page.getByText('Of zenith').count()).toBe(0);

  const mainOf = async (address: string) => {
    await page.goto(address);
    await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
    return page.locator('main').textContent();
  };
  expect(await mainOf(scene.reportOf(theirs))).toBe(await mainOf(scene.at('/console/segments/19999999')));

  // Any site can make the browser open a link, so a link neither ends a session nor replaces it.
  await page.goto(`${scene.reportOf(theirs)}?token=${await scene.tokenOf('zenith')}`);
  await page.getByRole('heading', { level: 1, name: 'This link is for another account' }).waitFor();
  await page.getByText('still signed in as acme').waitFor();
  await expectGoodLooks(page, 'other-account');
  await page.getByRole('link', { name: 'Stay signed in' }).click();
  await page.getByRole('link', { name: 'Of acme' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await page.goto(`${scene.reportOf(theirs)}?token=${await scene.tokenOf('zenith')}`);
  await page.getByRole('heading', { level: 1, name: 'Of zenith' }).waitFor();
});

test('a share link shows one report to anyone, as a customer sees it, and nothing else', async ({
  service,
  driver,
}) => {
  const [scene, stranger] = [await createScene(service, driver), await createScene(service, driver)];
  const devices = ids(120);
  await scene.attributes(
    new Map([
      ['Open', devices],
      ['Secret', devices.slice(0, 60)],
    ]),
  );
  const listed = (await scene.call('GET', '/v1/marketplace/attribute')).json;
  const secret = listed.find(({ name }: { name: string }) => name === 'Secret').attribute_id;
  await scene.call('PATCH', `/v1/marketplace/attribute/${secret}`, { body: { visibility: 'private' } });
  const audience = await scene.create('Shared', 'shared.csv', file(devices, 'visit'));
  await scene.loaded(audience);
  await scene.loaded(await scene.create('Of acme', 'acme.csv', file(devices.slice(40), ''), 'acme'));

  const page = await browser.open();
  await scene.signIn(page);
  await page.goto(scene.reportOf(audience));
  const names = async (of: Page) =>
    (await rowsOf(of, 'Composition by attribute')).map(([name]) => name).sort();
  await eventually(() => names(page)).toEqual(['Open', 'Secret\nprivate']);
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  await page.getByLabel('Link expires in').selectOption('1 day');
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = await page.getByLabel('Link to this report').inputValue();
  await page
    .getByRole('status')
    .getByText(/^Works until /)
    .waitFor();

  // A guest who has the link, without an account.
  const guest = await browser.open();
  await guest.goto(link);
  await guest.getByRole('heading', { level: 1, name: 'Shared' }).waitFor();
  expect(guest.url()).toBe(scene.reportOf(audience));
  await guest.getByText(`Shared by ${scene.owner}, read-only`).waitFor();
  await shows(guest, 'Unique devices', '120');
  await shows(guest, 'Matched devices', '120');
  await eventually(() => names(guest)).toEqual(['Open']);
  await guest.getByText('No other audience has devices in common with this one').waitFor();
  const text = await guest.locator('body').textContent();
  for (const hidden of ['curl', scene.prefix, 'shared.csv', 'Of acme', 'Imports', 'Sign out', 'Compare with'])
    expect(text).not.toContain(hidden);
  await guest.getByRole('button', { name: 'Refresh' }).click();
  await guest.goto(scene.at('/console/audiences'));
  await guest.getByRole('heading', { level: 1, name: 'Shared' }).waitFor();

  // A link does not replace the session of another account.
  const other = await browser.open();
  await stranger.signIn(other);
  await other.goto(link);
  await other.getByRole('heading', { level: 1, name: 'This link is for another account' }).waitFor();

  // An expired link says whom to ask.
  const sealed = sharedUntil(service.config.secret, audience.audience_id, scene, Date.now() - 1_000);
  await guest.goto(`${scene.reportOf(audience)}?share=${sealed}`);
  await guest.getByText(`Ask ${scene.owner} for a new link`).waitFor();
});

test('an expired link leads to the sign-in page, and from there back to the report', async ({
  service,
  driver,
}) => {
  const scene = await createScene(service, driver);
  const audience = await scene.create('Later', 'later.csv', file(ids(50), ''), 'acme');
  await scene.loaded(audience);
  const page = await browser.open();
  await page.goto(`${scene.reportOf(audience)}?token=${await scene.tokenOf('acme', '-1h')}`);
  await page.getByText(`Ask ${scene.owner} for a new link`).waitFor();
  expect(page.url()).not.toContain('token=');
  await page.getByLabel('API key or user token').fill('nonsense');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('API key or user token').fill(await scene.tokenOf('acme'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Later' }).waitFor();
  expect(page.url()).toBe(scene.reportOf(audience));

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await page.goto(scene.reportOf(audience));
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
});

test('lists are filtered and searched, and an import shows its rejected rows', async ({
  service,
  driver,
}) => {
  const scene = await createScene(service, driver);
  for (const name of ['Autumn', 'Winter'])
    await scene.loaded(await scene.create(name, `${name}.csv`, file(ids(20), '')));
  const failed = await scene.create('Nothing there', 'other/none.csv', '');
  await scene.loaded(failed);
  await scene.attributes(new Map([['Travellers', [...ids(50), 'nobody']]]));
  const page = await browser.open();
  await scene.signIn(page);
  const names = async () => (await rowsOf(page, 'Audiences, newest first')).map(([name]) => name);
  await eventually(names).toEqual(['Nothing there', 'Winter', 'Autumn']);
  await page.getByLabel('Status').selectOption('Failed');
  await eventually(names).toEqual(['Nothing there']);
  await page.getByLabel('Status').selectOption('Any status');
  await page.getByLabel('Search by name').fill('wint');
  await eventually(names).toEqual(['Winter']);

  await page.getByRole('link', { name: 'Imports' }).click();
  await page.getByRole('link', { name: 'attributes.csv' }).click();
  await page.getByRole('heading', { name: 'Rejected rows', exact: true }).waitFor();
  await page.getByText('nobody').first().waitFor();
  await page.getByLabel('Correct the rows').waitFor();
});
