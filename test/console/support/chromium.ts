/** The Chromium from an npm package, so that a fresh machine needs neither a download nor a system package. */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import chromium, { inflate } from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';
import { withLock } from '../../../deploy/local/lock.ts';
import { QUIET_MS } from '../../support/wait-for.ts';

const packed = join(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')), '../../bin');

/** Locked: other test files unpack concurrently, an interrupted unpack leaves half a binary, and an older version may exist. */
async function unpack(): Promise<{ executablePath: string; libraries: string }> {
  const binary = join(tmpdir(), 'chromium');
  const stamp = `${binary}.headrace-unpacked`;
  const version = String(statSync(join(packed, 'chromium.br')).size);
  return withLock(`${binary}.headrace-lock`, async () => {
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== version) rmSync(binary, { force: true });
    const executablePath = await chromium.executablePath();
    const libraries = join(await inflate(join(packed, 'al2023.tar.br')), 'lib');
    writeFileSync(stamp, version);
    return { executablePath, libraries };
  });
}

/** The package targets cloud functions: these flags disable what our tests check, or run all tabs in one process. */
const unwanted = ['--disable-web-security', '--allow-running-insecure-content', '--single-process'];

export async function launchChromium(): Promise<Browser> {
  const { executablePath, libraries } = await unpack();
  const args = chromium.args.filter((argument) => !unwanted.includes(argument));
  const launch = (env?: NodeJS.ProcessEnv) =>
    playwright.launch({
      executablePath,
      args,
      timeout: QUIET_MS,
      ...(env ? { env: env as Record<string, string> } : {}),
    });
  // Prefer the system's own libraries: the package's are built for another system.
  return launch().catch((error: Error) => {
    if (!/error while loading shared libraries/.test(error.message)) throw error;
    return launch({ ...process.env, LD_LIBRARY_PATH: libraries });
  });
}
