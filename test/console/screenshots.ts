/** `npm run screenshots` while `npm start` is running: the console's pages with the demo's data, for api/README.md. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DemoPartner } from '../../deploy/demo/provision.ts';
import { apiUrl } from '../../deploy/local/service.ts';
import { readState } from '../../deploy/local/state.ts';
import { launchChromium } from './support/chromium.ts';

const folder = readState('.headrace');
const demo = folder?.state.demo as DemoPartner | undefined;
if (!folder || !demo?.audience) {
  process.stderr.write('screenshots: start the demo first (npm start), and run this in another terminal\n');
  process.exit(1);
}
const url = apiUrl(folder);
const directory = fileURLToPath(new URL('../../api/console/screenshots/', import.meta.url));

const pages = {
  'sign-in': '/console/sign-in',
  audiences: '/console/audiences',
  report: `/console/segments/${demo.audience.default_warehouse_segment_id}`,
  imports: '/console/imports',
  import: '/console/imports/1',
};
const shots: [page: keyof typeof pages, theme: 'light' | 'dark', width: number][] = [
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
  await page.screenshot({ path: file });
  process.stdout.write(`${file}\n`);
  await context.close();
}
await browser.close();
