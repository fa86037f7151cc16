/** A partner's work in the console, in a real browser: uploads, dry runs, loads, corrections, webhooks, privacy requests. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { AUDIENCE, IMPORT } from '../api/support.ts';
import { startReceiver } from '../api/webhook-receiver.ts';
import type { Driver } from '../support/driver.ts';
import { eventually } from '../support/eventually.ts';
import { withSharedService } from '../support/fixture.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';
import { expectGoodLooks } from './support/accessible.ts';
import { useBrowser } from './support/browser.ts';
import { createScene, rowsOf, type Scene, shows } from './support/scene.ts';

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

const fact = (page: Page, name: string) =>
  page.locator('dt', { hasText: name }).locator('xpath=following-sibling::dd[1]');
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

test('webhooks show their deliveries, and send one again', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const receiver = await startReceiver();
  try {
    receiver.answerWith(410);
    const created = await scene.call('POST', '/v1/webhooks', { body: { url: `${receiver.url}/hook` } });
    const { webhook_id: id } = created.json;
    const audience = await scene.create('Of a webhook', 'hook.csv', file(ids(10), ''));
    await scene.loaded(audience);
    const page = await browser.open();
    await scene.signIn(page);
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('Disabled: receiver answered 410').waitFor();
    await expectGoodLooks(page, 'webhooks');
    await page.getByRole('link', { name: `${receiver.url}/hook` }).click();
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    await eventually(async () => (await rowsOf(page, 'Deliveries, newest first'))[0]![1]).toBe('Failed');
    await expectGoodLooks(page, 'webhook');
    const again = page.getByRole('button', { name: /^Send again: delivery \d+$/ });
    await again.click();
    await page.getByText('The webhook is disabled').waitFor();

    receiver.answerWith(204);
    await scene.call('PATCH', `/v1/webhooks/${id}`, { body: { active: true } });
    await again.click();
    await eventually(async () => (await rowsOf(page, 'Deliveries, newest first'))[0]![1]).toBe('Delivered');
    expect(receiver.received.map((each) => each.event.type)).toEqual(['load.ended', 'load.ended']);
  } finally {
    await receiver.close();
  }
});

test('a person’s request is made, watched to its end, and its receipt saved', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const [gone, kept] = ids(2) as [string, string];
  const audience = await scene.create('Runners', 'runners.csv', file([gone, kept], 'run'));
  await scene.loaded(audience);
  const page = await browser.open();
  await scene.signIn(page);
  await page.getByRole('link', { name: 'Privacy' }).click();
  await page.getByRole('link', { name: 'New request' }).click();

  const submit = page.getByRole('button', { name: 'Submit request' });
  const identifiers = page.getByLabel('Advertising identifiers');
  await identifiers.fill(`${gone}\n\nnobody`);
  await submit.click();
  await page.getByText('Line 3 is not an advertising identifier').waitFor();
  await identifiers.fill(` ${gone.toUpperCase()}\n${kept.replaceAll('-', '')}\n`);
  await submit.click();
  await fact(page, 'Devices found').getByText('2', { exact: true }).waitFor();
  const rows = await rowsOf(page, 'Stored data by device');
  expect(rows.sort()).toEqual([gone, kept].map((device) => [device, '–', 'Runners: run']).sort());

  await page.getByRole('link', { name: 'Privacy requests' }).click();
  await page.getByRole('link', { name: 'New request' }).click();
  await page.getByRole('radio', { name: /^Delete/ }).check();
  await identifiers.fill(gone);
  await submit.click();
  // The browser asks for the confirmation.
  expect(page.url()).toMatch(/new-request$/);
  await page.getByRole('checkbox', { name: 'Delete permanently' }).check();
  await submit.click();
  await page.getByRole('heading', { name: 'Receipt' }).waitFor();
  expect(await fact(page, 'Devices found').textContent()).toBe('1');
  const id = Number(new URL(page.url()).pathname.split('/').at(-1));
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save the receipt' }).click(),
  ]);
  const { receipt } = (await scene.call('GET', `/v1/privacy/requests/${id}`)).json;
  expect(await readFile(await download.path(), 'utf8')).toBe(receipt);
  expect(download.suggestedFilename()).toBe(`receipt-of-request-${id}.jws`);
  expect(await driver.members(setNames.audience(audience.audience_id, 1))).toEqual(asMembers([kept]));

  await page.goto(scene.at('/console/new-request'));
  await page.getByRole('radio', { name: /^Restore/ }).check();
  await page.getByRole('radio', { name: 'A file in your storage' }).check();
  await page.getByLabel('Path of the file').fill('none.csv');
  await submit.click();
  await page.getByText('Why it failed').waitFor();
  await page.getByRole('link', { name: 'Privacy requests' }).click();
  expect((await rowsOf(page, 'Privacy requests, newest first')).map((row) => row.slice(1, 4))).toEqual([
    ['Failed', '0', '0'],
    ['Done', '1', '1'],
    ['Done', '2', '2'],
  ]);
});

test('without the scope, and for a customer, there is nothing to change', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const { key } = await driver.stores.apiKeys.create(service.config.secret, scene.partner, 'r', {
    scopes: ['read'],
  });
  const failed = await scene.call('POST', IMPORT, { body: { file_path: 'none.csv', key_type: 0 } });
  await scene.ended(`${IMPORT}/${failed.json.import_log_id}`);
  const page = await browser.open();
  await scene.signIn(page, key);
  expect(await page.getByRole('link', { name: /Upload|Webhooks|Privacy/ }).count()).toBe(0);
  await page.goto(scene.at(`/console/imports/${failed.json.import_log_id}`));
  await page.getByText('Why it failed').waitFor();
  expect(await page.getByRole('button', { name: 'Submit again' }).count()).toBe(0);
  await page.goto(scene.at('/console/upload'));
  await page.getByRole('heading', { level: 1, name: 'Not allowed' }).waitFor();
  for (const path of ['requests', 'requests/1', 'new-request', 'webhooks']) {
    await page.goto(scene.at(`/console/${path}`));
    await page.getByRole('heading', { level: 1, name: 'Not allowed' }).waitFor();
  }
  await expectGoodLooks(page, 'not-allowed');

  const customer = await browser.open();
  await scene.signIn(customer, await scene.tokenOf('acme'));
  expect(await customer.locator('footer').count()).toBe(0);
  expect(await customer.locator('nav[aria-label=Console] a').allInnerTexts()).toEqual(['Audiences']);
  for (const path of ['upload', 'webhooks', 'imports', 'requests', 'requests/1', 'new-request']) {
    await customer.goto(scene.at(`/console/${path}`));
    await customer.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
  }
});

test('another site changes nothing, whatever it makes the browser send', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>evil'));
  await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
  try {
    const page = await browser.open({ tolerated: /CORS policy|Failed to load resource/ });
    await scene.signIn(page);
    // Another port is another origin of the same site and gets the cookie; another host name is another site and does not.
    for (const host of ['127.0.0.1', 'localhost']) {
      await page.goto(`http://${host}:${(evil.address() as AddressInfo).port}/`);
      const sent = await page.evaluate(
        async ([url, body]) => {
          const ask = (init: RequestInit) =>
            fetch(url, { method: 'POST', credentials: 'include', body, ...init }).then(
              ({ type, status }) => `${type} ${status}`,
              () => 'refused',
            );
          return [
            await ask({ mode: 'no-cors', headers: { 'content-type': 'text/plain' } }),
            await ask({ headers: { 'content-type': 'application/json' } }),
            await ask({ headers: { 'content-type': 'application/json', 'x-headrace-console': '1' } }),
          ];
        },
        [scene.at(IMPORT), JSON.stringify({ file_path: 'a', key_type: 0 })] as const,
      );
      expect([host, sent]).toEqual([host, ['opaque 0', 'refused', 'refused']]);
      const answered = page.waitForResponse((one) => one.request().method() === 'POST');
      await page.evaluate((url) => {
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', enctype: 'text/plain', action: url });
        form.innerHTML = `<input name='{"file_path":"a","key_type":0,"x":"' value='"}'>`;
        document.body.append(form);
        form.submit();
      }, scene.at(IMPORT));
      expect([host, (await answered).status()]).toEqual([host, host === 'localhost' ? 401 : 403]);
      await page.waitForURL(scene.at(IMPORT));
    }
    expect(await driver.jobs.countDocuments({ partner: scene.partner })).toBe(0);
  } finally {
    evil.close();
  }
});
