/** `npm start` with a Docker engine, in a fresh clone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { DemoPartner } from '../../deploy/demo/provision.ts';
import { audiences } from '../../deploy/demo/samples.ts';
import { runTool } from '../../deploy/local/child.ts';
import { images } from '../../deploy/local/containers.ts';
import { containerName } from '../../deploy/local/docker.ts';
import { serversOf, single } from '../../deploy/local/names.ts';
import { readState } from '../../deploy/local/state.ts';
import { cleanEnvironment, runHeadrace } from '../support/run-headrace.ts';
import { waitFor } from '../support/wait-for.ts';
import { docker, exitCode, leftovers } from './docker.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const servers = serversOf(single);
/** Unset, so that `npm start` chooses. */
const free = { HEADRACE_SERVERS: undefined };

let before: Awaited<ReturnType<typeof leftovers>>;
let clone: string;
let running: { child: ChildProcess; output(): string; ended: Promise<number | null> };

beforeAll(async () => {
  before = await leftovers();
  clone = mkdtempSync(join(tmpdir(), 'headrace-clone-'));
  await runTool('git', ['clone', '-q', root, clone]);
});
afterAll(async () => {
  running?.child.kill('SIGKILL');
  if (existsSync(join(clone, '.headrace'))) await headrace('down', '--purge', '--yes');
  rmSync(clone, { recursive: true, force: true });
});

const state = () => readState(join(clone, '.headrace'))!;
const nameOf = (server: (typeof servers)[number]) => containerName(state(), server);
const headrace = (...args: string[]) => runHeadrace(args, free, clone);

/** In its own process group, which gets a terminal's Ctrl-C. */
function npmStart(): typeof running {
  // For npm ci.
  const { NODE_EXTRA_CA_CERTS } = process.env;
  const env = { ...cleanEnvironment(), NODE_EXTRA_CA_CERTS, ...free };
  const child = spawn('npm', ['start'], {
    cwd: clone,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
    });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, output: () => output, ended };
}

async function startDemo(): Promise<string> {
  running = npmStart();
  const { child, output } = running;
  await waitFor(() => output().includes('Ctrl-C stops everything') || child.exitCode !== null, {
    what: 'npm start',
    progress: output,
  });
  expect(child.exitCode, output()).toBeNull();
  return output();
}

/** npm itself ends by the signal; the last line of its output says that mongod has stopped. */
async function ctrlC(): Promise<void> {
  process.kill(-running.child.pid!, 'SIGINT');
  await running.ended;
  expect(running.output().trimEnd().split('\n').at(-1)).toBe('mongod stopped');
}

async function lastAudience(): Promise<{ status: number; unique_devices: number }> {
  const { ports, demo } = state().state;
  const { api_key, audience } = demo as DemoPartner;
  const url = `http://127.0.0.1:${ports.api}/v2/firstparty/audience/${audience!.audience_id}`;
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${api_key}` } });
  return (await answer.json()) as { status: number; unique_devices: number };
}
const loads = audiences.at(-1)!.loads;
const loaded = { status: 2, unique_devices: new Set(loads.flatMap(({ devices }) => [...devices])).size };

let partner: string;

test('the first start installs, runs the servers in containers and loads the samples', async () => {
  const shown = await startDemo();
  partner = /created partner (\S+)/.exec(shown)![1]!;
  for (const server of servers) expect(shown).toMatch(new RegExp(`${server} is ready .*${nameOf(server)}`));
  expect(await lastAudience()).toMatchObject(loaded);
});

test('the demo and status name the command that shows the log of a server', async () => {
  const { code, stdout } = await headrace('status');
  expect(code).toBe(0);
  for (const server of servers) {
    const command = `docker logs ${nameOf(server)}`;
    expect(stdout).toContain(command);
    expect(running.output()).toContain(command);
  }
  expect(await docker('logs', nameOf('mongod'))).toContain('Waiting for connections');
  expect(await docker('logs', nameOf('kafka'))).toContain('started');
});

test('Ctrl-C stops the servers gracefully', async () => {
  await ctrlC();
  for (const server of servers) expect([0, 143], server).toContain(await exitCode(nameOf(server)));
  expect(await docker('ps', '-q')).toBe('');
});

test('a restart has the same data, and says when a container dies', async () => {
  const shown = await startDemo();
  expect(shown).toContain(`using partner ${partner} from the last start`);
  expect(shown).toContain('using the sample data from the last start');
  expect(await lastAudience()).toMatchObject(loaded);
  await docker('kill', nameOf('mongod'));
  await waitFor(() => running.output().includes('mongod has died'), { what: 'the report of its death' });
  expect((await headrace('status')).stdout).toMatch(/mongod +not running/);
  await ctrlC();
});

test('data outlives a killed and a removed container, and a port that another process has taken', async () => {
  const port = state().state.ports.s3!;
  await docker('rm', '-f', '-v', nameOf('kafka'));
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const shown = await startDemo();
  expect(shown).toContain(`using partner ${partner} from the last start`);
  expect(await lastAudience()).toMatchObject(loaded);
  expect(state().state.ports.s3).not.toBe(port);
  await ctrlC();
});

test('a container that does not come back ends the start, with the end of its log', async () => {
  const broken = ['-v', `${nameOf('kafka')}:/data`, '--entrypoint', 'sh', images.s3];
  await docker('run', '--rm', ...broken, '-c', 'echo cluster.id=another > /data/meta.properties');
  running = npmStart();
  expect(await running.ended).toBe(1);
  expect(running.output()).toMatch(
    /headrace: kafka exited during startup with code \d+\. The end of docker logs/,
  );
  expect(running.output()).not.toContain('    at ');
  expect(await docker('ps', '-q')).toBe('');
});

test('down --purge leaves nothing behind', async () => {
  const { code, stderr } = await headrace('down', '--purge', '--yes');
  expect([code, stderr]).toEqual([0, expect.stringContaining('removed ')]);
  expect(await leftovers()).toEqual(before);
  expect(existsSync(join(clone, '.headrace'))).toBe(false);
});

/** Starts only the servers, in their own folder. */
async function upIn(folder: string, env: Record<string, string | undefined>, through: string[] = []) {
  const directory = join(clone, folder);
  onTestFinished(async () => void (await headrace('down', '--purge', '--yes', '--state', directory)));
  const args = ['up', '--servers-only', '--detach', '--state', directory];
  if (through.length === 0) return runHeadrace(args, env, clone);
  const command = [...through, process.execPath, join(root, 'deploy', 'headrace.mjs'), ...args];
  const child = spawn(command[0]!, command.slice(1), { env: { ...cleanEnvironment(), ...env } });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stderr, stdout: '' };
}

// A reachable registry provides the image, and then nothing is made.
const isMade = (process.env.HEADRACE_TEST_MADE_IMAGES ?? '').includes(images.s3);
describe.skipIf(!isMade)('without an image and a registry', () => {
  beforeAll(async () => {
    await docker('tag', images.s3, 'headrace-test-kept');
    await docker('rmi', images.s3);
  });
  afterAll(async () => {
    await docker('tag', 'headrace-test-kept', images.s3);
    await docker('rmi', 'headrace-test-kept');
  });

  test('a start says so, and uses local processes', async () => {
    const { code, stderr } = await upIn('local', free);
    expect(stderr).toMatch(/cannot pull \S+versitygw\S+: .*; starting local processes instead/);
    expect([code, stderr]).toEqual([0, expect.stringContaining('up after')]);
    expect(await docker('ps', '-q')).toBe('');
  });

  test('a start that wants Docker fails', async () => {
    const { code, stderr } = await upIn('docker', { HEADRACE_SERVERS: 'docker' });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`headrace: cannot pull ${images.s3}: `)]);
  });
});

test('an engine in another network ends the start, and says what to do', async () => {
  const other = await docker('run', '-d', '--entrypoint', 'sleep', images.s3, 'infinity');
  onTestFinished(async () => void (await docker('rm', '-f', other)));
  const pid = await docker('inspect', '--format', '{{.State.Pid}}', other);
  const { code, stderr } = await upIn('elsewhere', free, ['nsenter', `--net=/proc/${pid}/ns/net`]);
  expect(stderr).toContain('the Docker engine runs elsewhere. In a dev container, ');
  expect([code, stderr]).toEqual([1, expect.not.stringContaining('    at ')]);
});
