/** `npm start` as a user sees it: it starts, loads, prints commands that work, stops at Ctrl-C, and restarts on the same data. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { count } from '../../api/client/format.ts';
import type { DemoPartner } from '../../deploy/demo/provision.ts';
import { attributes, audiences, marketplaceSample } from '../../deploy/demo/samples.ts';
import { processesOf, single } from '../../deploy/local/names.ts';
import { identify, isRunning } from '../../deploy/local/process-identity.ts';
import { readState } from '../../deploy/local/state.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { type RunningHeadrace, runHeadrace, startHeadrace, startNpm } from '../support/run-headrace.ts';
import { waitFor } from '../support/wait-for.ts';
import { missingFrom, readme, runReadme } from './readme-commands.ts';

let folder: string;
let state: string;
let running: RunningHeadrace | undefined;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headrace-demo-'));
  state = join(folder, '.headrace');
});
afterAll(async () => {
  running?.child.kill('SIGTERM');
  await running?.outcome;
  await runHeadrace(['down', '--purge', '--yes', '--state', state]);
  rmSync(folder, { recursive: true, force: true });
});

const settings = { HEADRACE_LIMIT_BACKEND_MS: '60000' };

async function startDemo(start = () => startHeadrace(['demo', '--state', state], settings)): Promise<string> {
  running = start();
  const { child, stdout, stderr } = running;
  await waitFor(() => stdout().includes('Ctrl-C stops everything') || child.exitCode !== null, {
    what: 'the demo to be up',
  });
  expect(child.exitCode, stdout() + stderr()).toBeNull();
  return stdout();
}

const shell = async (command: string, cwd?: string) =>
  (await promisify(execFile)('sh', ['-c', command], { cwd })).stdout;
let partner: string;

const { loads } = audiences.at(-1)!;
const distinct = new Set(loads.flatMap(({ devices }) => [...devices])).size;

const apiUrl = () => `http://127.0.0.1:${readState(state)!.state.ports.api}`;

test('npx finds the command in a clone', async () => {
  const clone = fileURLToPath(new URL('../../', import.meta.url));
  expect(await shell('npx headrace --version', clone)).toBe(`${packageJson.version}\n`);
});

/** First, because the README shows the numbers of a fresh stack. */
test('every command of the README works when pasted, and prints what the README says', async () => {
  const started = { ...readme.start, output: await startDemo() };
  const ran = await runReadme(readme.commands, folder, apiUrl());
  expect([started, ...ran].flatMap(missingFrom)).toEqual([]);
  // The link at the end of one command's output signs its customer in.
  const link = /^http:\S+\/console\/segments\/\S+$/m.exec(ran.map(({ output }) => output).join('\n'))![0];
  const { pathname, search } = new URL(link);
  const answer = await fetch(apiUrl() + pathname + search, { redirect: 'manual' });
  expect(answer.status).toBe(303);
});

test('loads all samples with the counts they have, and prints commands that work when pasted', async () => {
  const shown = running!.stdout();
  const { rows, devices } = marketplaceSample;
  expect(shown).toMatch(
    new RegExp(
      `marketplace import, ${marketplaceSample.path}: done in .* ${count(rows)} rows, ${count(devices.size)} devices`,
    ),
  );
  for (const one of audiences.flatMap((audience) => audience.loads))
    expect(shown).toMatch(
      new RegExp(
        `, ${one.path}: done in .* ${count(one.rows + one.rejected)} rows, ${count(one.devices.size)} devices`,
      ),
    );
  partner = /created partner (\S+)/.exec(shown)![1]!;
  const [list, audience, composition, queue] = shown.split('\n').filter((line) => line.startsWith('curl '));
  expect(JSON.parse(await shell(list!))).toEqual([
    expect.objectContaining({ status: 2, total_rows: String(rows) }),
  ]);
  expect(JSON.parse(await shell(audience!))).toMatchObject({ status: 2, unique_devices: distinct });
  const report = await waitFor(
    async () => {
      const answer = JSON.parse(await shell(composition!));
      return answer.attributes ? answer : undefined;
    },
    { what: 'the composition' },
  );
  expect(report.unique_devices).toBe(distinct);
  expect(report.attributes.map(({ name }: { name: string }) => name).sort()).toEqual(
    attributes.map(({ name }) => name).sort(),
  );
  expect(JSON.parse(await shell(queue!))).toEqual({ import_log_id: expect.any(Number) });
});

test('prints the reference, the storage keys, and commands that upload and load a file', async () => {
  const shown = running!.stdout();
  const docs = /reference +(\S+\/docs)\n/.exec(shown)![1]!;
  expect((await fetch(docs)).status).toBe(200);
  const { s3, api_key } = readState(state)!.state.demo as DemoPartner;
  expect(shown).toContain(`${s3.access_key_id}   ${s3.secret_access_key}`);
  const commands = shown.split('\n').filter((line) => line.startsWith('curl '));
  const upload = commands.find((line) => line.includes('--aws-sigv4'))!;
  const load = commands.find((line) => line.includes('"My visitors"'))!;
  const uploads = mkdtempSync(join(tmpdir(), 'headrace-upload-'));
  onTestFinished(() => rmSync(uploads, { recursive: true }));
  writeFileSync(join(uploads, 'visitors.csv'), '8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11,visit\n');
  await shell(upload, uploads);
  const { audience_id } = JSON.parse(await shell(load));
  const url = `${new URL(docs).origin}/v2/firstparty/audience/${audience_id}`;
  const headers = { Authorization: `Bearer ${api_key}` };
  const loaded = async () => {
    const record = (await (await fetch(url, { headers })).json()) as {
      status: number;
      unique_devices: number;
    };
    return record.status === 2 && record;
  };
  expect(await waitFor(loaded, { what: 'the audience' })).toMatchObject({
    unique_devices: 1,
  });
});

test('beside a running one, says so and how to stop it; its end is not the end of the other', async () => {
  const again = startHeadrace(['demo', '--state', state]);
  const { code, stdout, stderr } = await again.outcome;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`headrace is already running in another terminal (pid ${running!.child.pid})`);
  expect(stdout).toContain(`To stop it: Ctrl-C there, or headrace down --state ${state}`);
  expect(running!.child.exitCode).toBeNull();
  const { processes } = readState(state)!.state;
  expect(processesOf(single).every((name) => isRunning(identify(processes[name]!.pid)))).toBe(true);
});

test('the deep link signs in and leads to the audience’s report', async () => {
  const link = running!
    .stdout()
    .split('\n')
    .find((line) => line.includes('/console/segments/'))!;
  const answer = await fetch(link.trim(), { redirect: 'manual' });
  expect(answer.status).toBe(303);
  const cookie = answer.headers.getSetCookie()[0]!.split(';')[0]!;
  const page = new URL(answer.headers.get('location')!, link);
  expect([page.searchParams.has('token'), page.pathname]).toEqual([false, new URL(link).pathname]);
  const signedIn = await fetch(new URL('/console/session', link), { headers: { cookie } });
  expect(await signedIn.json()).toMatchObject({ customer: 'acme' });
  // A local service allows load tests.
  expect(await (await fetch(new URL('/', link))).json()).toMatchObject({ allows_load: true });
});

test('a Ctrl-C stops everything, cleanly and in flow order', async () => {
  const { processes } = readState(state)!.state;
  const names = processesOf(single);
  const identities = names.map((name) => identify(processes[name]!.pid));
  expect(identities.every(isRunning)).toBe(true);
  running!.child.kill('SIGINT');
  const { code, stdout } = await running!.outcome;
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n').slice(-5)).toEqual(names.map((name) => `${name} stopped`));
  expect(identities.some(isRunning)).toBe(false);
});

test('starts again on the same data, as the same partner, with npm start itself', async () => {
  const shown = await startDemo(() => startNpm(['start', '--', '--state', state], settings));
  expect(shown).toContain(`using partner ${partner} from the last start`);
  expect(shown).toContain('using the sample data from the last start');
  const commands = shown.split('\n').filter((line) => line.startsWith('curl '));
  expect(JSON.parse(await shell(commands[1]!))).toMatchObject({ status: 2, unique_devices: distinct });
});

test('a start that was killed while it loaded: the next uses the servers it left, and the same audiences', async () => {
  const { processes } = readState(state)!.state;
  // npm and its process group.
  process.kill(-running!.child.pid!, 'SIGKILL');
  await running!.outcome;
  const stored = readState(state)!;
  const { audience: _, ...partner } = stored.state.demo as DemoPartner;
  stored.state.demo = partner;
  stored.save();
  await startDemo();
  expect(readState(state)!.state.processes).toEqual(processes);
  const { api_key } = partner;
  const url = `http://127.0.0.1:${readState(state)!.state.ports.api}/v2/firstparty/audience`;
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${api_key}` } });
  const names = ((await answer.json()) as { name: string }[]).map(({ name }) => name);
  expect(names.sort()).toEqual([...audiences.map(({ name }) => name), 'My visitors'].sort());
});

test('the README’s way to stop it works, and deletes everything', async () => {
  const ran = await runReadme(readme.stops, folder, apiUrl());
  expect(ran.length).toBeGreaterThan(0);
  expect((await running!.outcome).code).toBe(0);
  expect(existsSync(state)).toBe(false);
});
