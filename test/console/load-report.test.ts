/** The report that `headrace load --report` writes. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { createTerminal, provision, type Variables, variablesOf } from '../cli/partner.ts';
import { type Service, sharedService } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { expectAccessible } from './support/accessible.ts';
import { useBrowser } from './support/browser.ts';

let service: Service;
let variables: Variables;
const { run } = createTerminal(() => variables);
const browser = useBrowser();

beforeAll(async () => {
  service = await sharedService();
  variables = variablesOf((await provision(service)).issued, service.apiUrl);
});

it('is one file without a script, readable in light and dark, wide and narrow', async () => {
  const report = join(temporaryFolder(), 'report');
  const shape = ['--jobs', '20', '--files', '5', '--rows', '2000', '--invalid', '0.01'];
  const { code, stderr } = await run('load', ...shape, '--rate', '10/s', '--report', report);
  expect([code, stderr]).toEqual([0, expect.stringContaining(`${report}.html`)]);
  for (const theme of ['light', 'dark'] as const)
    for (const width of [1_280, 390]) {
      const page = await browser.open({ theme, width });
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      await page.goto(pathToFileURL(`${report}.html`).href);
      expect(requests).toHaveLength(1);
      expect(await page.locator('script').count()).toBe(0);
      expect(await page.getByRole('img').count()).toBe(7);
      expect(await page.getByText(/^[\d,]+ of [\d,]+ correct$/).count()).toBe(1);
      await expectAccessible(page, `${theme} ${width}`);
    }
});
