/** `npm start` as a person meets it: it comes up, loads, prints commands that work, stops at Ctrl-C, and starts again on the same data. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attributes, audiences, marketplaceSample } from '../../deploy/demo/samples.ts';
import { processesOf, single } from '../../deploy/local/names.ts';
import { identify, isRunning } from '../../deploy/local/process-identity.ts';
import { readState } from '../../deploy/local/state.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningHeadrace, runHeadrace, startHeadrace } from '../support/run-headrace.ts';
import { waitFor } from '../support/wait-for.ts';

let state: string;
let running: RunningHeadrace | undefined;

beforeAll(() => {
  state = mkdtempSync(join(tmpdir(), 'headrace-demo-'));
});
afterAll(async () => {
  running?.child.kill('SIGTERM');
  await running?.outcome;
  await runHeadrace(['down', '--purge', '--state', state]);
  rmSync(state, { recursive: true, force: true });
});

async function startDemo(): Promise<string> {
  running = startHeadrace(['demo', '--state', state], { HEADRACE_LIMIT_BACKEND_MS: '60000' });
  const { child, stdout, stderr } = running;
  await waitFor(() => stdout().includes('Ctrl-C stops everything') || child.exitCode !== null, {
    what: 'the demo to be up',
    deadlineMs: 600_000,
  });
  expect(child.exitCode, stdout() + stderr()).toBeNull();
  return stdout();
}

const shell = async (command: string) => (await promisify(execFile)('sh', ['-c', command])).stdout;
let partner: string;

const { loads } = audiences.at(-1)!;
const distinct = new Set(loads.flatMap(({ devices }) => [...devices])).size;

test('loads all samples with the counts they have, and prints commands that work when pasted', async () => {
  const shown = await startDemo();
  const { rows, devices } = marketplaceSample;
  expect(shown).toMatch(
    new RegExp(
      `marketplace import, ${marketplaceSample.path}: done in .* ${rows} rows, ${devices.size} devices`,
    ),
  );
  for (const one of audiences.flatMap((audience) => audience.loads))
    expect(shown).toMatch(
      new RegExp(`, ${one.path}: done in .* ${one.rows + one.rejected} rows, ${one.devices.size} devices`),
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
});

test('status says that all five answer', async () => {
  const status = async () => {
    const { code, stdout } = await runHeadrace(['status', '--state', state]);
    return [code, stdout.match(/ healthy /g)?.length];
  };
  await eventually(status).toEqual([0, 5]);
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

test('starts again on the same data, as the same partner', async () => {
  const shown = await startDemo();
  expect(shown).toContain(`using partner ${partner} from the last start`);
  expect(shown).toContain('using the sample data from the last start');
  const commands = shown.split('\n').filter((line) => line.startsWith('curl '));
  expect(JSON.parse(await shell(commands[1]!))).toMatchObject({ status: 2, unique_devices: distinct });
});
