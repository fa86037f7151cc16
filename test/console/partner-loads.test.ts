/** A partner loads files in the console, in a real browser: uploads, dry runs, imports, audiences, corrections. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { AUDIENCE, IMPORT } from '../api/support.ts';
import type { Driver } from '../support/driver.ts';
import { eventually } from '../support/eventually.ts';
import { withSharedService } from '../support/fixture.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';
import { expectGoodLooks } from './support/accessible.ts';
import { useBrowser } from './support/browser.ts';
import { createScene, fact, rowsOf, type Scene, shows } from './support/scene.ts';

const test = withSharedService();
const browser = useBrowser();

/** Drops a file that repeats the text `times` times on the page. */
async function drop(page: Page, name: string, text: string, times = 1): Promise<void> {
  const dataTransfer = await page.evaluateHandle(
    ([name, text, times]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(Array(times).fill(text), name));
      return transfer;
    },
    [name, text, times] as const,
  );
  await page.dispatchEvent('.drop-zone', 'drop', { dataTransfer });
  await page.locator('.drop-zone').getByText(name).waitFor();
}

const phases = (page: Page) =>
  page.locator('.timeline li').evaluateAll((all) => all.map((each) => each.className));
const done = ['phase-done', 'phase-done', 'phase-done', 'phase-done'];
const number = (value: number) => value.toLocaleString('en');

async function attributeOf(scene: Scene, driver: Driver): Promise<number> {
  const { _id } = await driver.stores.attributes.create({
    partner: scene.partner,
    name: 'Travellers',
    foreignKey: 'travel',
  });
  return _id;
}

/** Records what the page shows while it works: values of progress bars, and the current phase. */
const watchProgress = (page: Page) =>
  page.evaluate(() => {
    const seen = new Set<string>();
    Object.assign(window, { seen });
    const look = () => {
      for (const bar of document.querySelectorAll('progress'))
        if (bar.position >= 0) seen.add(`${bar.ariaLabel} ${bar.position}`);
      for (const phase of document.querySelectorAll('.phase-current'))
        seen.add(phase.firstChild!.textContent!);
    };
    const all = { subtree: true, childList: true, attributes: true, characterData: true };
    new MutationObserver(look).observe(document.body, all);
  });
const progressSeen = (page: Page) =>
  page.evaluate(() => [...(window as unknown as { seen: Set<string> }).seen]);

/** HEADRACE_TEST_UPLOAD_MB=200 for a realistic size. */
const MEGABYTES = Number(process.env.HEADRACE_TEST_UPLOAD_MB ?? 1);

test('a file is dropped, checked, imported and watched; its rejected rows are corrected', async ({
  service,
  driver,
}) => {
  const scene = await createScene(service, driver);
  const attribute = await attributeOf(scene, driver);
  const devices = ids(2_000);
  const bad = ['nobody', 'not-a-device'];
  const text = file(devices, 'travel') + file(bad, 'travel');
  const times = Math.ceil((MEGABYTES * 1_000_000) / text.length);
  const rows = times * (devices.length + bad.length);

  const page = await browser.open();
  await scene.signIn(page);
  await page.getByRole('link', { name: 'Upload', exact: true }).click();
  await drop(page, 'day-1.csv', text, times);
  await page.getByLabel('Your own keys').check();
  await watchProgress(page);
  await page.getByRole('button', { name: 'Upload and check' }).click();
  const load = page.getByRole('button', { name: 'Import', exact: true });
  await load.waitFor();
  const isWhole = (await page.getByText('reads the beginning').count()) === 0;
  if (MEGABYTES <= 1) {
    expect(isWhole).toBe(true);
    expect(await fact(page, 'Rows read').textContent()).toBe(number(rows));
    expect(await fact(page, 'Would be loaded').textContent()).toBe(number(times * devices.length));
    expect(await fact(page, 'Would be rejected').textContent()).toContain(number(times * bad.length));
    await expectGoodLooks(page, 'dry-run');
  }
  // The dry run has loaded nothing.
  expect((await scene.call('GET', IMPORT)).json).toEqual([]);
  expect((await driver.members(setNames.attribute(attribute))).size).toBe(0);

  await load.click();
  await page.getByRole('heading', { level: 1, name: /day-1\.csv/ }).waitFor();
  await eventually(() => phases(page)).toEqual(done);
  await eventually(() => fact(page, 'Rows read').textContent()).toBe(number(rows));
  expect(await fact(page, 'Unique devices').textContent()).toBe(number(devices.length));
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers(devices));
  await page.getByText(`Done, ${number(times * bad.length)} rejected`).waitFor();
  const seen = await progressSeen(page);
  expect(seen).toContain('Upload of day-1.csv 1');
  if (MEGABYTES > 50) {
    const between = (label: string) => seen.filter((one) => one.startsWith(label) && !/ [01]$/.test(one));
    expect(between('Upload of').length).toBeGreaterThan(2);
    expect(between('Progress of import').length).toBeGreaterThan(2);
    expect(seen).toContain('Loading');
  }

  // One of the two rows is corrected, the other left out.
  const corrected = ids(1)[0]!;
  const rowsToCorrect = page.getByLabel('Correct the rows');
  expect((await rowsToCorrect.inputValue()).split('\n').slice(0, 3)).toEqual([
    'device_id,key',
    'nobody,travel',
    'not-a-device,travel',
  ]);
  await rowsToCorrect.fill(`device_id,key\n${corrected},travel\n`);
  await page.getByRole('button', { name: 'Check and resubmit' }).click();
  await page.getByRole('heading', { name: 'Would load 1 of 1 row' }).waitFor();
  await page.getByRole('button', { name: 'Resubmit', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: /rejected-rows-of-import-\d+\.csv/ }).waitFor();
  await eventually(() => phases(page)).toEqual(done);
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers([...devices, corrected]));
});

test('with the keyboard alone: from signing in to a resubmitted reject', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const attribute = await attributeOf(scene, driver);
  const devices = ids(30);
  await scene.upload('keys.csv', file(devices, 'travel') + file(['nobody'], 'travel'));
  const body = { file_path: 'keys.csv', key_type: 1 };
  const { import_log_id: id } = (await scene.call('POST', IMPORT, { body })).json;
  await scene.ended(`${IMPORT}/${id}`);

  const page = await browser.open();
  /** Presses Tab until the element has the focus; the focus is visible. */
  const reach = async (name: string | RegExp) => {
    const isThere = () =>
      page.evaluate(() => {
        const on = document.activeElement as HTMLElement;
        const label = (on as HTMLInputElement).labels?.[0]?.textContent;
        return on.getAttribute('aria-label') ?? label ?? on.textContent;
      });
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab');
      const text = (await isThere())?.trim() ?? '';
      if (typeof name === 'string' ? text === name : name.test(text)) return;
    }
    throw new Error(`${name} is not reached with the Tab key`);
  };
  await page.goto(scene.at('/console/sign-in'));
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await reach('API key or user token');
  await page.keyboard.insertText(scene.key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Audiences' }).waitFor();
  await reach('Imports');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'keys.csv' }).waitFor();
  await reach(/keys\.csv/);
  await page.keyboard.press('Enter');
  await page.getByLabel('Correct the rows').waitFor();
  await reach('Correct the rows');
  await page.keyboard.press('Control+a');
  const [corrected] = ids(1);
  await page.keyboard.insertText(`device_id,key\n${corrected},travel\n`);
  await reach('Check and resubmit');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Resubmit', exact: true }).waitFor();
  await reach('Resubmit');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: /rejected-rows/ }).waitFor();
  await eventually(() => phases(page)).toEqual(done);
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers([...devices, corrected!]));
});

test('an audience is created from a file and another file added to it', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const [first, second] = [ids(120), ids(80)];
  const page = await browser.open();
  await scene.signIn(page);
  await page.getByRole('link', { name: 'Upload a file' }).click();
  await drop(page, 'first.csv', file(first, 'visit'));
  expect(await page.getByLabel('New audience').isChecked()).toBe(true);
  await page.getByLabel('Name of the audience').fill('Summer visitors');
  await page.getByRole('button', { name: 'Upload and check' }).click();
  await page.getByRole('heading', { name: 'Would load 120 of 120 rows' }).waitFor();
  await page.getByRole('button', { name: 'Create audience' }).click();
  await page.getByRole('heading', { level: 1, name: 'Summer visitors' }).waitFor();
  await shows(page, 'Unique devices', '120');
  const [{ audience_id: id }] = (await scene.call('GET', AUDIENCE)).json;

  await page.goto(scene.at('/console/upload?as=append'));
  await drop(page, 'second.csv', file([...second, ...first.slice(0, 20)], 'visit'));
  await page.getByLabel('Audience', { exact: true }).selectOption('Summer visitors');
  await page.getByRole('button', { name: 'Upload and check' }).click();
  await page.getByRole('button', { name: 'Add to audience' }).click();
  await page.getByRole('heading', { level: 1, name: 'Summer visitors' }).waitFor();
  await shows(page, 'Unique devices', '200');
  expect(await driver.members(setNames.audience(id, 1))).toEqual(asMembers([...first, ...second]));
});

test('a file that would fail is not offered to load; a failed import is submitted again', async ({
  service,
  driver,
}) => {
  const scene = await createScene(service, driver);
  await attributeOf(scene, driver);
  const page = await browser.open();
  await scene.signIn(page);
  await page.goto(scene.at('/console/upload'));
  await drop(page, 'bad.csv', file(['a', 'b', ...ids(3)], 'travel'));
  await page.getByLabel('Your own keys').check();
  await page.getByRole('button', { name: 'Upload and check' }).click();
  await page.getByRole('heading', { name: 'Would fail' }).waitFor();
  await page.getByText('too_many_invalid').first().waitFor();
  await expectGoodLooks(page, 'dry-run-failed');
  expect(await page.getByRole('button', { name: 'Import', exact: true }).count()).toBe(0);
  expect((await rowsOf(page, 'Sample of rejected rows')).map(([row, line]) => [row, line])).toEqual([
    ['a,travel', '1'],
    ['b,travel', '2'],
  ]);
  await page.getByRole('button', { name: 'Back' }).click();
  await page.getByRole('button', { name: 'Upload and check' }).waitFor();

  const body = { file_path: 'late.csv', key_type: 1 };
  const { import_log_id: id } = (await scene.call('POST', IMPORT, { body })).json;
  await page.goto(scene.at(`/console/imports/${id}`));
  await page.getByText('Why it failed').waitFor();
  expect(await page.getByText('yet', { exact: false }).count()).toBe(0);
  await eventually(() => phases(page)).toEqual(['phase-done', 'phase-failed', 'phase-ahead', 'phase-ahead']);
  await scene.upload('late.csv', file(ids(25), 'travel'));
  await page.getByRole('button', { name: 'Submit again' }).click();
  await eventually(() => phases(page)).toEqual(done);
  await eventually(() => fact(page, 'Unique devices').textContent()).toBe('25');
});

test('an upload that the storage refuses or does not answer says so, and is tried again', async ({
  service,
  driver,
}) => {
  const scene = await createScene(service, driver);
  const page = await browser.open({ tolerated: /Failed to load resource|CORS policy/ });
  await scene.signIn(page);
  await page.goto(scene.at('/console/upload?as=audience'));
  await drop(page, 'a.csv', file(ids(10), ''));
  await page.getByLabel('Name of the audience').fill('Tried again');
  const storage = `${service.config.s3Endpoint}/**`;
  await page.route(storage, (route) => route.abort());
  await page.getByRole('button', { name: 'Upload and check' }).click();
  await page.getByRole('alert').getByText('does not answer this page').waitFor();
  await page.unroute(storage);
  const denied = '<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>';
  const headers = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
  await page.route(storage, (route) => route.fulfill({ status: 403, headers, body: denied }));
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('alert').getByText('The storage answered 403 AccessDenied. Access Denied.').waitFor();
  await expectGoodLooks(page, 'upload-failed');
  await page.unroute(storage);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Would load 10 of 10 rows' }).waitFor();
});
