/** The built console, or a message that says why it is missing. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { readConsoleFiles } from '../../api/resources/console/console-pages.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it('reads the page and its assets, each with its compressed forms', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'assets'));
  for (const file of ['index.html', 'assets/main-ABC.js'])
    for (const form of ['', '.br', '.gz']) writeFileSync(join(folder, file + form), `${file}${form}`);
  const { page, assets } = await readConsoleFiles(pathToFileURL(`${folder}/`));
  expect(page.bodies.identity.toString()).toBe('index.html');
  expect([...assets.keys()]).toEqual(['main-ABC.js']);
  const { type, etag, bodies } = assets.get('main-ABC.js')!;
  expect([type, bodies.br!.toString(), bodies.gzip.toString()]).toEqual([
    '.js',
    'assets/main-ABC.js.br',
    'assets/main-ABC.js.gz',
  ]);
  expect(etag).not.toBe(page.etag);
});

it('says how to get a console that was not built', async () => {
  await expect(readConsoleFiles()).rejects.toThrow(
    /the console is not built: run the API with deploy\/headrace/,
  );
});
