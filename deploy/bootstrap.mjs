// The entry point of `npm start` and `npm test`: plain Node without dependencies, so that it works in a fresh clone.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const oldestNode = engines.node.replace('>=', '').split('.').map(Number);

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

needNode();
await install();
const [what, ...args] = process.argv.slice(2);
const headrace = join(root, 'deploy', 'headrace.mjs');
if (what === 'test') {
  const { test } = await import('../test/run.mjs');
  process.exit(await test(run, args));
}
process.exit(await run(process.execPath, [headrace, 'demo', ...args]));
