/**
 * `npm run test:node [-- 22 24]`: a short form of `npm test` on other versions of Node, with binaries from the npm package `node`.
 * Runs all unit tests, and of the tests with servers those that exercise every part of the service.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached, type Download } from '../deploy/local/cache.ts';
import { runTool } from '../deploy/local/child.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const releases: Record<string, string> = { '22': '22.23.3', '24': '24.21.0' };
const withServers = [
  'test/deploy/compiled.test.ts',
  'test/deploy/monitoring.test.ts',
  'test/integration/rest-to-sets.test.ts',
  'test/invariants/restarts.test.ts',
  'test/api/events.test.ts',
  'test/cli/tap.test.ts',
  'test/cli/installed.test.ts',
];

const nodeDownload = (version: string): Download => ({
  folder: `node-${version}`,
  title: `Node ${version}`,
  // npm runs this, so it is there.
  checkTools: () => {},
  async fetchInto(directory, signal) {
    const args = ['install', '--prefix', directory, '--no-audit', '--no-fund', `node@${version}`];
    await runTool('npm', args, { signal });
  },
});

interface Report {
  numPassedTests: number;
  numFailedTests: number;
}

/** Runs vitest with another Node. Returns the exit code. */
function runTests(node: string, args: string[]): Promise<number> {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(node, [vitest, 'run', ...args], { cwd: root, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

async function testOn(version: string): Promise<{ line: string; isGood: boolean }> {
  const report = (line: string) => process.stderr.write(`${line}\n`);
  const home = await cached(nodeDownload(version), report, AbortSignal.timeout(600_000));
  const node = join(home, 'node_modules', 'node', 'bin', 'node');
  const runs = (await runTool(node, ['--version'])).trim();
  const directory = mkdtempSync(join(tmpdir(), 'headrace-node-'));
  let passed = 0;
  let failed = 0;
  try {
    for (const [project, files] of [
      ['unit', []],
      ['stack', withServers],
    ] as const) {
      const output = join(directory, `${project}.json`);
      const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${output}`];
      const code = await runTests(node, ['--project', project, ...reporters, ...files]);
      const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(output, 'utf8')) as Report;
      passed += numPassedTests;
      failed += Math.max(numFailedTests, code === 0 ? 0 : 1);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return { line: `Node ${runs}: ${passed} passed, ${failed} failed`, isGood: failed === 0 };
}

const wanted = process.argv.slice(2);
const results: { line: string; isGood: boolean }[] = [];
for (const major of wanted.length > 0 ? wanted : Object.keys(releases))
  results.push(await testOn(releases[major] ?? major));
for (const { line } of results) process.stdout.write(`${line}\n`);
process.exitCode = results.every(({ isGood }) => isGood) ? 0 : 1;
