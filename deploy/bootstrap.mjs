// The entry point of `npm start` and `npm test`: plain Node without dependencies, so that it works in a fresh clone.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const oldestNode = [20, 19];

function needNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return;
  process.stderr.write(
    `headrace needs Node ${oldestNode.join('.')} or newer; this is ${process.versions.node}.\n`,
  );
  process.exit(1);
}

/** Runs a child process on our terminal, forwards signals to it, and resolves with its exit code. */
function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit' });
    const pass = (signal) => child.kill(signal);
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, pass);
    const done = (code) => {
      for (const signal of signals) process.off(signal, pass);
      resolve(code);
    };
    child.once('error', (error) => {
      process.stderr.write(`cannot run ${command}: ${error.message}\n`);
      done(1);
    });
    child.once('close', (code, signal) => done(code ?? 128 + constants.signals[signal]));
  });
}

/** The npm that runs this script, otherwise the one on the PATH. */
function npm(...args) {
  const own = process.env.npm_execpath;
  return own?.endsWith('.js') ? run(process.execPath, [own, ...args]) : run('npm', args);
}

const stamp = join(root, 'node_modules', '.headrace-installed');
const lockFile = join(root, 'package-lock.json');
const lockHash = () => createHash('sha256').update(readFileSync(lockFile)).digest('hex');

/** npm writes its hidden lock file last, so an interrupted install does not count as complete. */
function isInstalled() {
  const hidden = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(hidden)) return false;
  if (statSync(hidden).mtimeMs >= statSync(lockFile).mtimeMs) return true;
  // git may update the time of package-lock.json without changing its content.
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash();
}

async function install() {
  if (isInstalled()) return;
  process.stderr.write('installing dependencies (npm ci)\n');
  const code = await npm('ci', '--include=dev', '--no-audit', '--no-fund');
  if (code !== 0) {
    process.stderr.write('npm ci failed (see above): fix the cause and run the command again\n');
    process.exit(code);
  }
  writeFileSync(stamp, lockHash());
}

const tool = (name) => join(root, 'node_modules', '.bin', name);

/** The same steps as `npm run check`, each counted as one test. */
async function check() {
  const steps = [
    ['biome', ['check', '.']],
    ['tsc', ['--noEmit']],
    ['tsc', ['--noEmit', '-p', 'api/console']],
    ['tsc', ['--noEmit', '-p', 'test/console']],
  ];
  const failed = [];
  for (const [name, args] of steps) {
    if ((await run(tool(name), args)) !== 0) failed.push(`check: ${name} ${args.join(' ')}`);
  }
  return { passed: steps.length - failed.length, failed };
}

/** The result of each file; of one that vitest was to run and did not, that it has failed. */
async function runTests(args) {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-report-'));
  const planned = join(directory, 'files.json');
  const report = join(directory, 'vitest.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  await run(tool('vitest'), ['list', '--filesOnly', `--json=${planned}`, ...args]);
  const code = await run(tool('vitest'), ['run', ...reporters, ...args]);
  try {
    const files = JSON.parse(readFileSync(report, 'utf8')).testResults;
    // It could not begin.
    if (files.length === 0) return { code, files };
    const ran = new Set(files.map(({ name }) => name));
    const notRun = JSON.parse(readFileSync(planned, 'utf8')).filter(({ file }) => !ran.has(file));
    const asFailed = ({ file: name }) => ({
      name,
      status: 'failed',
      message: 'not run',
      assertionResults: [],
    });
    return { code, files: [...files, ...notRun.map(asFailed)] };
  } catch {
    return { code, files: [] };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The time of all processors since the machine started, and how much of it its host gave to others. Known on Linux only. */
function processorTime() {
  if (process.platform !== 'linux') return { all: 0, stolen: 0 };
  const [line] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const times = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return { all: times.reduce((sum, time) => sum + time), stolen: times[7] };
}

/** How much of this machine's time its host gave to others in the worst minute of the work. */
async function watchingHost(work) {
  let worst = 0;
  let before = processorTime();
  const watch = setInterval(() => {
    const now = processorTime();
    worst = Math.max(worst, (now.stolen - before.stolen) / Math.max(1, now.all - before.all));
    before = now;
  }, 60_000);
  const result = await work();
  clearInterval(watch);
  return { result, worst };
}

/**
 * A virtual machine that stands still for minutes lets tests of time limits fail, and other ones each time. If the host took most of
 * its time for a minute, the files that failed run again. That they did, and why they failed before, is part of the output.
 */
async function runTestsOnAnyHost(args) {
  const { result: first, worst } = await watchingHost(() => runTests(args));
  const isFailed = (file) => file.status === 'failed';
  const failed = first.files.filter(isFailed).map((file) => file.name);
  if (failed.length === 0 || worst < 0.5) return first;
  process.stdout.write(
    `for a minute the host gave ${Math.round(worst * 100)} % of this machine to others: what failed runs again\n`,
  );
  tell('failed at first', failures(first));
  const second = await runTests(failed);
  return { code: second.code, files: [...first.files.filter((file) => !isFailed(file)), ...second.files] };
}

const tell = (what, lines) => {
  for (const line of lines) process.stdout.write(`${what}: ${line.replaceAll(`${root}/`, '')}\n`);
};

/** Only the first line: logs of the processes follow it, and vitest has shown them. */
const reason = (message) => stripVTControlCharacters(message ?? '').split('\n', 1)[0];

/** Every failed test, and every file that failed before any of its tests ran. */
function failures({ files, code }) {
  const lines = files.flatMap((file) => {
    const failed = file.assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => `${file.name}: ${test.fullName}: ${reason(test.failureMessages[0])}`);
    if (failed.length === 0 && file.status === 'failed') return [`${file.name}: ${reason(file.message)}`];
    return failed;
  });
  return lines.length === 0 && code !== 0 ? [`vitest exited with code ${code}`] : lines;
}

/** Names of the tests that ended so. */
const ended = ({ files }, ...statuses) =>
  files.flatMap((file) =>
    file.assertionResults
      .filter((test) => statuses.includes(test.status))
      .map((test) => `${file.name}: ${test.fullName}`),
  );

async function test(args) {
  const checks = await check();
  const results = await runTestsOnAnyHost(args);
  const failed = [...checks.failed, ...failures(results)];
  const skipped = ended(results, 'skipped', 'pending', 'todo');
  tell('failed', failed);
  // vitest's own output gives the reason of each; tests that a command line filter leaves out have none.
  if (args.length === 0) tell('skipped', skipped);
  const passed = checks.passed + ended(results, 'passed').length;
  process.stdout.write(
    `${passed} passed, ${failed.length} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}\n`,
  );
  return failed.length === 0 ? 0 : 1;
}

needNode();
await install();
const [what, ...args] = process.argv.slice(2);
const headrace = join(root, 'deploy', 'headrace.mjs');
process.exit(what === 'test' ? await test(args) : await run(process.execPath, [headrace, 'demo', ...args]));
