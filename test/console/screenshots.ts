/**
 * `npm run screenshots` while `npm start` is running: the console's pages with the demo's data, for api/README.md.
 * With `-- DIRECTORY`: every page, in both themes and both widths.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DemoPartner } from '../../deploy/demo/provision.ts';
import { apiUrl } from '../../deploy/local/service.ts';
import { readState } from '../../deploy/local/state.ts';
import { launchChromium } from './support/chromium.ts';

type Theme = 'light' | 'dark';
const [wanted] = process.argv.slice(2);
const folder = readState('.headrace');
const demo = folder?.state.demo as DemoPartner | undefined;
if (!folder || !demo?.audience) {
  process.stderr.write('screenshots: start the demo first (npm start), and run this in another terminal\n');
  process.exit(1);
}
const url = apiUrl(folder);
const directory = wanted ?? fileURLToPath(new URL('../../api/console/screenshots/', import.meta.url));
mkdirSync(directory, { recursive: true });

const pages = {
  'sign-in': '/console/sign-in',
  audiences: '/console/audiences',
  report: `/console/segments/${demo.audience.default_warehouse_segment_id}`,
  imports: '/console/imports',
  import: '/console/imports/1',
  upload: '/console/upload',
  webhooks: '/console/webhooks',
};
const shots: [page: keyof typeof pages, theme: Theme, width: number][] = wanted
  ? (Object.keys(pages) as (keyof typeof pages)[]).flatMap((page) =>
      (['light', 'dark'] as const).flatMap((theme) =>
        [1_280, 360].map((width): [keyof typeof pages, Theme, number] => [page, theme, width]),
      ),
    )
  : [
      ['report', 'light', 1_280],
      ['report', 'dark', 360],
      ['audiences', 'light', 1_280],
      ['imports', 'dark', 1_280],
      ['import', 'light', 1_280],
      ['sign-in', 'dark', 360],
    ];

const browser = await launchChromium();
for (const [name, theme, width] of shots) {
  const context = await browser.newContext({
    colorScheme: theme,
    locale: 'en-US',
    viewport: { width, height: name === 'report' ? 1_400 : 800 },
  });
  const page = await context.newPage();
  await page.goto(`${url}/console/sign-in`);
  if (name !== 'sign-in') {
    await page.getByLabel('API key or user token').fill(demo.api_key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Audiences' }).waitFor();
    await page.goto(url + pages[name]);
  }
  await page.getByRole('heading', { level: 1 }).waitFor();
  if (name === 'report') await page.getByText(/^as of /).waitFor();
  await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {});
  const file = join(directory, `${name}-${theme}${width < 500 ? '-narrow' : ''}.png`);
  await page.screenshot({ path: file, fullPage: wanted !== undefined });
  process.stdout.write(`${file}\n`);
  await context.close();
}
await browser.close();
