/** Every page in both themes and both widths: no violation that axe finds, and nothing that has to be scrolled sideways. */
import { withSharedService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { expectAccessible } from './support/accessible.ts';
import { useBrowser } from './support/browser.ts';
import { createScene, shows } from './support/scene.ts';

const test = withSharedService();
const browser = useBrowser();

test('every page, light and dark, wide and narrow', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const devices = ids(600);
  await scene.attributes(
    new Map(
      Array.from({ length: 10 }, (_, i) => [
        `An attribute with a rather long name, number ${i}`,
        devices.slice(i * 20),
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
  await scene.loaded(other);
  const imported = (await scene.call('GET', '/v1/marketplace/import')).json[0].import_log_id;

  for (const theme of ['light', 'dark'] as const) {
    for (const width of [1_280, 360]) {
      const page = await browser.open({ theme, width });
      const look = async (path: string, ready: () => Promise<unknown>) => {
        await page.goto(scene.at(path));
        await ready();
        await expectAccessible(page, `${path}, ${theme}, ${width} px`);
      };
      const heading = (name: string) => () => page.getByRole('heading', { level: 1, name }).waitFor();
      await look('/docs/topics', heading('Topics'));
      await look('/console/sign-in', heading('Sign in'));
      await scene.signIn(page);
      await look('/console/audiences', () => page.getByRole('link', { name: 'Visitors' }).waitFor());
      await look('/console/imports', () =>
        page.getByRole('link', { name: 'attributes.csv' }).first().waitFor(),
      );
      await look(`/console/imports/${imported}`, () =>
        page.getByRole('listitem').getByText('Merging').waitFor(),
      );
      await look('/console/upload', () => page.getByRole('group', { name: 'Load it as' }).waitFor());
      await look('/console/webhooks', () => page.getByText('No webhooks are registered').waitFor());
      await look(new URL(scene.reportOf(audience)).pathname, async () => {
        await shows(page, 'Matched devices', '600');
        await page.locator('.chart-dot').first().waitFor();
        await page.getByRole('button', { name: 'Share', exact: true }).click();
        await page.getByRole('button', { name: 'Create link' }).click();
        await page.getByLabel('Link to this report').waitFor();
      });
      await look(`${new URL(scene.reportOf(audience)).pathname}?compare=${other.audience_id}`, () =>
        page.getByRole('table', { name: 'Compared attributes' }).waitFor(),
      );
      await look(`/console/sign-in?reason=expired`, () => page.getByText('has expired').waitFor());
      await look('/console/segments/19999999', heading('Not found'));
      await page.context().close();
    }
  }
});
