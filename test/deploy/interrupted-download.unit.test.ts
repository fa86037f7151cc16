/** Ctrl-C during the first download: no partial download is left that could be taken for a server. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { cached, type Download } from '../../deploy/local/cache.ts';
import { isRunning, startedAt } from '../../deploy/local/process-identity.ts';
import { startHeadrace } from '../support/run-headrace.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';

afterEach(() => void vi.unstubAllEnvs());

/** Tools that write down their pid and then hang. */
function slowTools(): { path: string; pids: () => number[] } {
  const path = temporaryFolder();
  for (const tool of ['mvn', 'python3', 'go']) {
    writeFileSync(join(path, tool), `#!/bin/sh\necho $$ > ${path}/${tool}.pid\nsleep 600 & wait\n`, {
      mode: 0o755,
    });
  }
  const files = () => readdirSync(path).filter((name) => name.endsWith('.pid'));
  return { path, pids: () => files().map((name) => Number(readFileSync(join(path, name), 'utf8'))) };
}

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s ends the tools, removes what they fetched, and leaves the folder usable',
  async (signal) => {
    const cache = temporaryFolder();
    const state = temporaryFolder();
    const tools = slowTools();
    const env = {
      PATH: `${tools.path}:${process.env.PATH}`,
      XDG_CACHE_HOME: cache,
      DOCKER_HOST: 'unix:///nowhere.sock',
    };
    for (let start = 1; start <= 2; start++) {
      const running = startHeadrace(['up', '--servers-only', '--state', state], env);
      await waitFor(() => tools.pids().filter((pid) => pid > 0 && startedAt(pid)).length === 3, {
        what: 'three downloads',
      });
      const identities = tools.pids().map((pid) => ({ pid, started: startedAt(pid)! }));
      running.child.kill(signal);
      const { code, stderr } = await running.outcome;
      expect(code).toBe(130);
      expect(stderr).toContain('interrupted before everything was up');
      expect(stderr).not.toContain('at ');
      await waitFor(() => !identities.some(isRunning), { what: 'the tools to end' });
      expect(readdirSync(join(cache, 'headrace'))).toEqual([]);
    }
  },
);

async function progressOf(isBuilt: boolean): Promise<string[]> {
  vi.stubEnv('XDG_CACHE_HOME', temporaryFolder());
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    const said: string[] = [];
    const sized: Download = {
      ...download(async (directory) => {
        mkdirSync(join(directory, 'tool'));
        for (const megabytes of [21, 42, 90]) {
          writeFileSync(join(directory, 'tool', 'file'), Buffer.alloc(megabytes * 1_000_000));
          vi.advanceTimersByTime(5_000);
        }
      }),
      size: { bytes: 84_000_000, folder: 'tool', ...(isBuilt ? { isBuilt } : {}) },
    };
    await cached(sized, (line) => said.push(line), new AbortController().signal);
    return said;
  } finally {
    vi.useRealTimers();
  }
}

const arriving = [
  'downloading thing, 84 MB (first start only)',
  'downloading thing: 21 MB of 84 MB (25%)',
  'downloading thing: 42 MB of 84 MB (50%)',
];

test('a download reports its size and progress', async () => {
  expect(await progressOf(false)).toEqual([
    ...arriving,
    'downloading thing: 84 MB of 84 MB (99%)',
    expect.stringMatching(/^downloaded thing in \d+ s$/),
  ]);
});

test('a server that is compiled reports building once its download is complete', async () => {
  expect(await progressOf(true)).toEqual([
    ...arriving,
    'building thing',
    expect.stringMatching(/^built thing in \d+ s$/),
  ]);
});

function download(work: (directory: string) => Promise<void>): Download {
  return { folder: 'thing-1', title: 'thing', checkTools() {}, fetchInto: work };
}

test('a killed download is swept by the next, a failed one leaves nothing, two at once fetch once', async () => {
  const cache = temporaryFolder();
  vi.stubEnv('XDG_CACHE_HOME', cache);
  const home = join(cache, 'headrace');
  const { signal } = new AbortController();
  mkdirSync(join(home, 'thing-1.partial-abc'), { recursive: true });
  // The lock of a process that no longer exists: no pid has this start time.
  writeFileSync(join(home, 'thing-1.lock'), JSON.stringify({ pid: process.pid, started: 'long ago' }));
  const failing = download(async (directory) => {
    writeFileSync(join(directory, 'half'), '');
    throw new Error('the network is gone');
  });
  await expect(cached(failing, () => {}, signal)).rejects.toThrow('the network is gone');
  expect(readdirSync(home)).toEqual([]);
  let fetched = 0;
  const working = download(async (directory) => {
    fetched++;
    await new Promise((resolve) => setTimeout(resolve, 200));
    writeFileSync(join(directory, 'whole'), '');
  });
  const both = await Promise.all([cached(working, () => {}, signal), cached(working, () => {}, signal)]);
  expect(both).toEqual([join(home, 'thing-1'), join(home, 'thing-1')]);
  expect(fetched).toBe(1);
  expect(readdirSync(home)).toEqual(['thing-1']);
  expect(readdirSync(both[0])).toEqual(['whole']);
});
