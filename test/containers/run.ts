/** `npm run test:containers`: tests that need a Docker engine. It needs an engine, or root and `dockerd`. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StartError } from '../../deploy/local/start-error.ts';
import { findEngine, whyNone } from './engine.ts';
import { dockerConfig, ensureImages } from './images.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort());

function runVitest(args: string[]): Promise<number> {
  const vitest = join(root, 'node_modules', '.bin', 'vitest');
  const config = join('test', 'containers', 'vitest.config.ts');
  const child = spawn(vitest, ['run', '--config', config, ...args], { cwd: root, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

const since = Date.now();
const engine = await findEngine();
if (engine === undefined) {
  process.stdout.write(`test:containers did nothing: ${whyNone()}\n`);
  process.exit(0);
}
const directory = mkdtempSync(join(tmpdir(), 'headrace-containers-'));
try {
  if (engine.host !== undefined) process.env.DOCKER_HOST = engine.host;
  process.env.DOCKER_CONFIG = await dockerConfig(directory, interrupted.signal);
  process.env.HEADRACE_TEST_MADE_IMAGES = (await ensureImages(interrupted.signal)).join();
  process.stderr.write(`engine and images are ready after ${Math.round((Date.now() - since) / 1000)} s\n`);
  process.exitCode = await runVitest(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  await engine.stop();
  rmSync(directory, { recursive: true, force: true });
}
process.stdout.write(`test:containers took ${Math.round((Date.now() - since) / 1000)} s\n`);
