/** What else a partner does in the console, in a real browser: webhooks, privacy requests, and what is refused. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { IMPORT } from '../api/support.ts';
import { startReceiver } from '../api/webhook-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { withSharedService } from '../support/fixture.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';
import { expectGoodLooks } from './support/accessible.ts';
import { useBrowser } from './support/browser.ts';
import { createScene, fact, rowsOf } from './support/scene.ts';

const test = withSharedService();
const browser = useBrowser();

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
