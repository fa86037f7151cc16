// `npm test`: the checks of `npm run check` beside one run of vitest, then a line per failure, where the time went, and the counts.
// With arguments: only the matching vitest tests.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tool = (name) => join(root, 'node_modules', '.bin', name);
const durationsFile = join(root, 'test', 'durations.json');
const slowest = 10;
/** Seconds. The order of faster files does not matter. */
const recordedFrom = 3;

const checks = [
  ['biome', ['check', '.']],
  ['tsc', ['--noEmit']],
  ['tsc', ['--noEmit', '-p', 'api/console']],
  ['tsc', ['--noEmit', '-p', 'test/console']],
  ['tsx', ['test/patterns/check.ts']],
];

/** Collects the output, which would otherwise interleave with vitest's. */
function runQuietly(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk) => {
      output += chunk;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('error', (error) => resolve({ code: 1, output: error.message }));
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** The steps of `npm run check`, each counted as one test. */
async function check() {
  const failed = [];
  for (const [name, args] of checks) {
    const { code, output } = await runQuietly(tool(name), args);
    if (code === 0) continue;
    failed.push({ line: `check: ${name} ${args.join(' ')}`, output });
  }
  return { passed: checks.length - failed.length, failed };
}

async function runVitest(run, args) {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-report-'));
  const report = join(directory, 'vitest.json');
  const times = join(directory, 'times');
  process.env.HEADRACE_TEST_TIMES = times;
  const code = await run(tool('vitest'), [
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...args,
  ]);
  try {
    const files = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
    return { code, files, times: existsSync(times) ? readFileSync(times, 'utf8').trim().split('\n') : [] };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const say = (line) => process.stdout.write(`${line.replaceAll(`${root}/`, '')}\n`);

/** Only the first line: vitest has already shown the logs that follow it. */
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
  // For instance a file whose worker did not start: vitest's own output names it.
  return lines.length === 0 && code !== 0 ? [`vitest exited with code ${code}`] : lines;
}

/** Names of the tests with one of these statuses. */
const ended = ({ files }, ...statuses) =>
  files.flatMap((file) =>
    file.assertionResults
      .filter((test) => statuses.includes(test.status))
      .map((test) => `${file.name}: ${test.fullName}`),
  );

const secondsOf = ({ startTime, endTime }) => (endTime - startTime) / 1_000;

function sayTimes({ files, times }) {
  const sorted = files.toSorted((a, b) => secondsOf(b) - secondsOf(a));
  for (const file of sorted.slice(0, slowest)) say(`slow: ${secondsOf(file).toFixed(1)} s ${file.name}`);
  const total = files.reduce((sum, file) => sum + secondsOf(file), 0);
  const sum = (what) =>
    times.filter((line) => line.startsWith(what)).reduce((all, line) => all + Number(line.split(' ')[1]), 0) /
    1_000;
  const [start, stop] = [sum('start'), sum('stop')];
  const share = total > 0 ? Math.round((100 * (start + stop)) / total) : 0;
  const starts = times.filter((line) => line.startsWith('start')).length;
  say(
    `time: ${total.toFixed(0)} s in all files, of that ${start.toFixed(0)} s in ${starts} starts and ${stop.toFixed(0)} s in stops of services (${share} %)`,
  );
}

function record({ files }) {
  const entries = files
    .map((file) => [relative(root, file.name), Math.round(secondsOf(file) * 10) / 10])
    .filter(([, seconds]) => seconds >= recordedFrom);
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
  say(`recorded the durations of ${entries.length} files`);
}

/** `run` runs a program on our terminal. Returns the exit code. */
export async function test(run, given) {
  const args = given.filter((argument) => argument !== '--record');
  const checking = args.length === 0 ? check() : { passed: 0, failed: [] };
  const [checked, results] = await Promise.all([checking, runVitest(run, args)]);
  for (const { output } of checked.failed) say(output);
  const failed = [...checked.failed.map(({ line }) => line), ...failures(results)];
  const skipped = ended(results, 'skipped', 'pending', 'todo');
  for (const line of failed) say(`failed: ${line}`);
  // vitest's own output gives the reasons. Tests excluded by a command line filter have none.
  if (args.length === 0) for (const line of skipped) say(`skipped: ${line}`);
  sayTimes(results);
  if (given.includes('--record')) record(results);
  const passed = checked.passed + ended(results, 'passed').length;
  const counts = [`${passed} passed`, `${failed.length} failed`];
  say([...counts, ...(skipped.length > 0 ? [`${skipped.length} skipped`] : [])].join(', '));
  return failed.length === 0 ? 0 : 1;
}
