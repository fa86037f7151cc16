/** A service with a privacy floor: no page shows a count under it, and each says why. */
import { eventually } from '../support/eventually.ts';
import { withService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { useBrowser } from './support/browser.ts';
import { createScene, rowsOf, shows } from './support/scene.ts';

const FLOOR = 100;
const test = withService({ env: { HEADRACE_PRIVACY_FLOOR: String(FLOOR) } });
const browser = useBrowser();

test('counts under the floor are hidden in the report and in the list', async ({ service, driver }) => {
  const scene = await createScene(service, driver);
  const devices = ids(300);
  await scene.attributes(
    new Map([
      ['Common', devices.slice(0, 250)],
      ['Rare', devices.slice(0, FLOOR - 1)],
    ]),
  );
  const audience = await scene.create(
    'Large',
    'large.csv',
    file(devices, 'visit') + file(devices.slice(0, 7), 'rare'),
  );
  await scene.loaded(audience);
  const small = await scene.create('Small', 'small.csv', file(devices.slice(0, FLOOR - 1), ''));
  await scene.loaded(small);

  const page = await browser.open();
  await scene.signIn(page);
  await page.getByRole('row', { name: /Small/ }).getByText('none known').waitFor();
  await page.getByRole('link', { name: 'Large' }).click();
  await shows(page, 'Matched devices', '250');
  await page.getByText(`Numbers under ${FLOOR} are hidden`).waitFor();
  const cells = async (caption: string) => (await rowsOf(page, caption)).map(([, devices]) => devices);
  await eventually(() => cells('Composition by attribute')).toEqual(['250', `under ${FLOOR}`]);
  await eventually(() => cells('Events')).toEqual(['300', `under ${FLOOR}`]);
  await eventually(() => cells('Overlap with other audiences')).toEqual([`under ${FLOOR}`]);

  await page.goto(scene.reportOf(small));
  await shows(page, 'Unique devices', String(FLOOR - 1));
  await shows(page, 'Matched devices', `Under ${FLOOR}`);
  await eventually(() => cells('Composition by attribute')).toEqual([`under ${FLOOR}`, `under ${FLOOR}`]);
});
