/** A service with a privacy floor: no page shows a count below it, and each says why. */
import { expect } from 'vitest';
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
  await page.getByRole('row', { name: /Small/ }).getByText('–').first().waitFor();
  await page.getByRole('link', { name: 'Large' }).click();
  await shows(page, 'Matched devices', '250');
  await page.getByText(`fewer than ${FLOOR} devices`).waitFor();
  const rows = async (caption: string) => (await rowsOf(page, caption)).map((cells) => cells.join(' '));
  const common = new RegExp(`^Common ${scene.owner} 250 `);
  await eventually(() => rows('Composition by attribute')).toEqual([expect.stringMatching(common)]);
  await eventually(() => rows('Events')).toEqual([
    'visit 300 300 100%',
    `rare under ${FLOOR} under ${FLOOR} under ${FLOOR}`,
  ]);
  await page.getByText('No other audience has devices in common with this one').waitFor();

  await page.goto(scene.reportOf(small));
  await shows(page, 'Unique devices', String(FLOOR - 1));
  await shows(page, 'Matched devices', `Under ${FLOOR}`);
  await page.getByText(`No marketplace attribute is shared by ${FLOOR} devices or more`).waitFor();
});
