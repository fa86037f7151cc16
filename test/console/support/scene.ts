/** The whole service with partners, customers and loaded data, as the console's pages show it. */
import type { Page } from 'playwright-core';
import { AUDIENCE, createCaller, endOf, IMPORT } from '../../api/support.ts';
import type { Driver } from '../../support/driver.ts';
import type { Service } from '../../support/stack.ts';
import { createTokenSigner } from '../../support/user-tokens.ts';

interface LoadedAudience {
  audience_id: number;
  default_warehouse_segment_id: number;
}

export type Scene = Awaited<ReturnType<typeof createScene>>;

export async function createScene(service: Service, driver: Driver) {
  const partner = await driver.partner();
  const { key } = await driver.stores.apiKeys.create(service.config.secret, partner._id);
  const call = createCaller(service.apiUrl, key);
  const token = createTokenSigner(driver.db, service.config);
  const tokenOf = (customer: string, expiresIn?: string) => token(partner._id, customer, expiresIn);

  const ended = (path: string) => endOf(call, path);

  return {
    key,
    partner: partner._id,
    owner: partner.name,
    prefix: partner.prefix,
    call,
    tokenOf,
    ended,
    at: (path: string) => service.apiUrl + path,
    upload: (path: string, body: string) => driver.upload(partner, path, body),

    /** Creates attributes that hold these devices, with one import. */
    async attributes(devices: ReadonlyMap<string, Iterable<string>>): Promise<void> {
      const rows: string[] = [];
      for (const [name, held] of devices) {
        const { _id } = await driver.stores.attributes.create({ partner: partner._id, name });
        for (const device of held) rows.push(`${device},${_id}\n`);
      }
      await driver.upload(partner, 'attributes.csv', rows.join(''));
      const body = { file_path: 'attributes.csv', key_type: 0 };
      await ended(`${IMPORT}/${(await call('POST', IMPORT, { body })).json.import_log_id}`);
    },

    /** Queues an audience of a customer from a file with this content. */
    async create(
      name: string,
      file_path: string,
      content: string,
      customer?: string,
    ): Promise<LoadedAudience> {
      await driver.upload(partner, file_path, content);
      const headers: Record<string, string> = customer ? { 'x-user-token': await tokenOf(customer) } : {};
      return (await call('POST', AUDIENCE, { body: { name, file_path }, headers })).json;
    },
    async append({ audience_id }: LoadedAudience, file_path: string, content: string): Promise<void> {
      await driver.upload(partner, file_path, content);
      const { headers } = await call('PATCH', `${AUDIENCE}/${audience_id}`, { body: { file_path } });
      await ended(new URL(headers.get('location')!, service.apiUrl).pathname);
    },
    loaded: ({ audience_id }: LoadedAudience) => ended(`${AUDIENCE}/${audience_id}`),
    reportOf: ({ default_warehouse_segment_id: segment }: LoadedAudience) =>
      `${service.apiUrl}/console/segments/${segment}`,

    async signIn(page: Page, secret = key): Promise<void> {
      await page.goto(`${service.apiUrl}/console/sign-in`);
      await page.getByLabel('API key or user token').fill(secret);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { level: 1, name: 'Audiences' }).waitFor();
    },
  };
}

/** The value of a figure of the report. */
export const figure = (page: Page, label: string) =>
  page
    .locator('.figure')
    .filter({ has: page.getByText(label, { exact: true }) })
    .locator('.figure-value');

export const shows = (page: Page, label: string, text: string): Promise<void> =>
  figure(page, label).getByText(text, { exact: true }).waitFor();

/** The value of a term in a list of facts. */
export const fact = (page: Page, name: string) =>
  page.locator('dt', { hasText: name }).locator('xpath=following-sibling::dd[1]');

/** The rows of a table by its caption, each as the texts of its cells. */
export async function rowsOf(page: Page, caption: string): Promise<string[][]> {
  const rows = page.getByRole('table', { name: caption }).locator('tbody tr');
  await rows.first().waitFor();
  // In one call: the page may render the table again between two.
  return rows.evaluateAll((all) =>
    // biome-ignore lint/performance/useDomNodeTextContent: the lines of a cell are told apart by its layout
    all.map((row) => [...row.querySelectorAll<HTMLElement>('th,td')].map((cell) => cell.innerText.trim())),
  );
}
