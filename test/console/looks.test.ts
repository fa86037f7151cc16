/** Every page in its states, in both themes and both widths. */
import type { Page } from 'playwright-core';
import { sealShareLink } from '../../api/auth/share-links.ts';
import { keyIdOf } from '../../api/stores/api-keys.ts';
import { AUDIENCE, IMPORT } from '../api/support.ts';
import { withSharedService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { expectGoodLooks } from './support/accessible.ts';
import { useBrowser } from './support/browser.ts';
import { createScene, shows } from './support/scene.ts';

const REQUESTS = '/v1/privacy/requests';
const test = withSharedService();
const browser = useBrowser();

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

test('every page and state, light and dark, wide and narrow', async ({ service, driver }) => {
  const [scene, empty] = [await createScene(service, driver), await createScene(service, driver)];
  const devices = ids(600);
  await scene.attributes(
    new Map(
      Array.from({ length: 10 }, (_, i) => [
        `${i < 5 ? 'Interests > Travel > ' : ''}An attribute with a rather long name, number ${i}`,
        [...devices.slice(i * 20), ...(i === 0 ? ['nobody'] : [])],
      ]),
    ),
  );
  const content = `${file(devices, 'a visit')}nobody,visit\n`;
  const audience = await scene.create(
    'Visitors of the summer campaign',
    'a/long/path/to/the/first-week.csv',
    content,
  );
  await scene.loaded(audience);
  await scene.append(audience, 'second-week.csv', file(ids(100), 'purchase'));
  const other = await scene.create('Subscribers', 'other.csv', file(devices.slice(300), 'a visit'));
  const failed = await scene.create('Nothing to load', 'none.csv', '', 'acme');
  const cleared = await scene.create('Emptied', 'cleared.csv', file(devices, 'a visit'));
  for (const one of [other, failed, cleared]) await scene.loaded(one);
  await scene.call('PUT', `${AUDIENCE}/${cleared.audience_id}`);
  const importsOf = async () => (await scene.call('GET', IMPORT)).json[0].import_log_id as number;
  const imported = await importsOf();
  await scene.call('POST', IMPORT, { body: { file_path: 'missing.csv', key_type: 0 } });
  const failedImport = await importsOf();
  await scene.ended(`${IMPORT}/${failedImport}`);

  const request = async (body: object) => {
    const { request_id } = (await scene.call('POST', REQUESTS, { body })).json;
    await scene.ended(`${REQUESTS}/${request_id}`);
    return `/console/requests/${request_id}`;
  };
  const answered = await request({ type: 'access', identifiers: devices.slice(0, 20) });
  const failedRequest = await request({ type: 'delete', file_path: 'a/long/path/to/people/who-asked.csv' });

  const page = await browser.open();
  const look = async (name: string, path: string, ready: () => Promise<unknown>, on = page) => {
    await on.goto(scene.at(path));
    await ready();
    await expectGoodLooks(on, name);
  };
  const reportOf = (one: typeof audience) => new URL(scene.reportOf(one)).pathname;
  await look('topics', '/docs/topics', () => heading(page, 'Topics'));
  await look('sign-in', '/console/sign-in', () => heading(page, 'Sign in'));
  await look('sign-in-expired', '/console/sign-in?reason=expired', () =>
    page.getByText('has expired').waitFor(),
  );

  await scene.signIn(page, empty.key);
  await look('audiences-empty', '/console/audiences', () =>
    page.getByText('There are no audiences yet').waitFor(),
  );
  await look('imports-empty', '/console/imports', () => page.getByText('There are no imports yet').waitFor());
  await look('webhooks-empty', '/console/webhooks', () =>
    page.getByText('No webhooks are registered').waitFor(),
  );
  await look('requests-empty', '/console/requests', () =>
    page.getByText('There are no privacy requests yet').waitFor(),
  );
  await page.getByRole('button', { name: 'Sign out' }).click();
  await heading(page, 'Sign in');

  await scene.signIn(page);
  await look('audiences', '/console/audiences', () => page.getByRole('link', { name: 'Visitors' }).waitFor());
  await look('imports', '/console/imports', () => page.getByRole('link', { name: 'missing.csv' }).waitFor());
  await look('import-done', `/console/imports/${imported}`, () =>
    page.getByLabel('Correct the rows').waitFor(),
  );
  await look('import-failed', `/console/imports/${failedImport}`, () =>
    page.getByText('Why it failed').waitFor(),
  );
  await look('upload', '/console/upload', () => page.getByRole('group', { name: 'Load as' }).waitFor());
  await look('requests', '/console/requests', () => page.getByRole('link', { name: 'who-asked' }).waitFor());
  await look('request-done', answered, () => page.getByRole('button', { name: 'Save as JSON' }).waitFor());
  await look('request-failed', failedRequest, () => page.getByText('Why it failed').waitFor());
  await look('new-request', '/console/new-request', async () => {
    await page.getByRole('radio', { name: /^Delete/ }).check();
    await page.getByRole('button', { name: 'Submit request' }).click();
    await page.getByRole('checkbox', { name: 'Delete permanently' }).check();
    await page.getByRole('button', { name: 'Submit request' }).click();
    await page.getByText('Enter at least one identifier').waitFor();
  });
  await look('report-done', reportOf(audience), async () => {
    await shows(page, 'Matched devices', '600');
    await page.locator('.chart-dot').first().waitFor();
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByRole('button', { name: 'Create link' }).click();
    await page.getByLabel('Link to this report').waitFor();
  });
  const link = await page.getByLabel('Link to this report').inputValue();
  await look('report-compared', `${reportOf(audience)}?compare=${other.audience_id}`, () =>
    page.getByRole('table', { name: 'Compared attributes' }).waitFor(),
  );
  await look('report-failed', reportOf(failed), () => page.getByText('Why it failed').waitFor());
  await look('report-cleared', reportOf(cleared), () => page.getByText(/^Cleared on /).waitFor());
  await look('not-found', '/console/segments/19999999', () => heading(page, 'Not found'));

  // The page while the response is pending.
  const held = `**${AUDIENCE}*`;
  await page.route(held, () => {});
  await look('audiences-loading', '/console/audiences', () => page.getByText('Loading').waitFor());
  await look('report-loading', reportOf(audience), () => heading(page, 'Loading the report'));
  await page.unroute(held);
  await page.route(`**${IMPORT}/${imported}/progress`, async (route) => {
    const response = await route.fetch();
    const running = { status: 1, phase: 'loading', jobs_ahead: 0, loaded_at: null, ended_at: null };
    const work = { files: 3, files_done: 1, bytes: 9e8, bytes_done: 4e8, rows: 9e6, rows_per_second: 5e5 };
    const estimated_end_at = new Date(Date.now() + 90_000).toISOString();
    await route.fulfill({
      response,
      json: { ...(await response.json()), ...running, ...work, estimated_end_at },
    });
  });
  await look('import-running', `/console/imports/${imported}`, () =>
    page.getByText('500,000 rows/s').waitFor(),
  );

  const guest = await browser.open();
  await look(
    'share-link',
    link.slice(scene.at('').length),
    () => shows(guest, 'Matched devices', '600'),
    guest,
  );
  const expired = sealShareLink(service.config.secret, {
    partner: scene.partner,
    audience: audience.audience_id,
    key: keyIdOf(scene.key)!,
    expiresAt: Date.now() - 1_000,
  });
  const { owner } = scene;
  await look(
    'link-expired',
    `${reportOf(audience)}?share=${expired}`,
    () => guest.getByText(`Ask ${owner} for a new link`).waitFor(),
    guest,
  );
  const customer = await browser.open();
  await look(
    'customer-failed',
    `${reportOf(failed)}?token=${await scene.tokenOf('acme')}`,
    () => customer.getByText('A load of this audience failed').waitFor(),
    customer,
  );
});
