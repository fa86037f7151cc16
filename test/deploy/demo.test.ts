/** `npm start` as a person meets it: it comes up, loads, prints commands that work, stops at Ctrl-C, and starts again on the same data. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { processesOf, single } from '../../deploy/local/names.ts';
import { identify, isRunning } from '../../deploy/local/process-identity.ts';
import { readState } from '../../deploy/local/state.ts';
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
  running = startHeadrace(['demo', '--state', state]);
  const { child, stdout, stderr } = running;
  await waitFor(() => stdout().includes('Ctrl-C stops everything') || child.exitCode !== null, {
    what: 'the demo to be up',
    deadlineMs: 100_000,
  });
  expect(child.exitCode, stdout() + stderr()).toBeNull();
  return stdout();
}

const shell = async (command: string) => (await promisify(execFile)('sh', ['-c', command])).stdout;
let partner: string;

test('loads both samples with the counts they have, and prints three commands that work when pasted', async () => {
  const shown = await startDemo();
  expect(shown).toMatch(/marketplace import \d+: done in .* 20000 rows, 16000 devices/);
  expect(shown).toMatch(/audience \d+: done in .* 5000 rows, 5000 devices, 5000 of them in the marketplace/);
  partner = /created partner (\S+)/.exec(shown)![1]!;
  const [list, queue, last] = shown.split('\n').filter((line) => line.startsWith('curl '));
  expect(JSON.parse(await shell(list!))).toEqual([
    expect.objectContaining({ status: 2, total_rows: '20000' }),
  ]);
  expect(JSON.parse(await shell(queue!))).toEqual({ import_log_id: expect.any(Number) });
  expect(JSON.parse(await shell(last!))).toMatchObject({
    status: 2,
    unique_devices: 5000,
    name: 'Demo visitors',
  });
});

test('status says that all five answer', async () => {
  const { code, stdout } = await runHeadrace(['status', '--state', state]);
  expect(stdout.match(/ healthy /g)).toHaveLength(5);
  expect(code).toBe(0);
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
  expect(shown).toMatch(/marketplace import \d+: done in .* 20000 rows, 16000 devices/);
  const list = shown.split('\n').find((line) => line.startsWith('curl '));
  expect(JSON.parse(await shell(list!)).length).toBeGreaterThanOrEqual(3);
});
