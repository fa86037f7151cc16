/** Bad input to a start: one clear message, nothing changed, and the next start works. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openState } from '../../deploy/local/state.ts';
import { runHere as runHeadrace } from '../support/run-here.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const startServersIn = (state: string) => ['up', '--servers-only', '--detach', '--state', state];

/** A PATH with only these tools, each of them a script. */
function pathWith(tools: Record<string, string>): string {
  const directory = temporaryFolder();
  symlinkSync(process.execPath, join(directory, 'node'));
  for (const [name, script] of Object.entries(tools)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return directory;
}

const java17 = 'echo \'openjdk version "17.0.1"\' >&2';
const java11 = 'echo \'openjdk version "11.0.2"\' >&2';

describe('a missing tool is told by name, with what it is for and what to do instead', () => {
  test.each([
    ['java', {}, ['java is not on the PATH', 'HEADRACE_KAFKA_BROKERS', 'Docker']],
    ['a Java of 17 or newer', { java: java11 }, ['java is version 11', '17', 'Docker']],
    ['mvn', { java: java17, go: '', python3: '' }, ['mvn is not on the PATH', 'HEADRACE_KAFKA_BROKERS']],
    ['python3', { java: java17, go: '', mvn: '' }, ['python3 is not on the PATH', 'HEADRACE_MONGO_URL']],
    ['go', { java: java17, mvn: '', python3: '' }, ['go is not on the PATH', 'HEADRACE_S3_ENDPOINT']],
  ])('%s', async (_tool, tools, told) => {
    const env = {
      PATH: pathWith(tools),
      XDG_CACHE_HOME: temporaryFolder(),
      DOCKER_HOST: 'unix:///nowhere.sock',
    };
    const { code, stderr } = await runHeadrace(startServersIn(temporaryFolder()), env);
    expect(code).toBe(1);
    for (const words of told) expect(stderr).toContain(words);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(readdirSync(env.XDG_CACHE_HOME)).toEqual([]);
  });
});

describe('a folder that is not ours is not touched', () => {
  test('a state of another version', async () => {
    const state = temporaryFolder();
    const text = JSON.stringify({ product: 'headrace', version: 999 });
    writeFileSync(join(state, 'state.json'), text);
    mkdirSync(join(state, 'data'));
    for (const command of [
      startServersIn(state),
      ['down', '--purge', '--state', state],
      ['status', '--state', state],
    ]) {
      const { code, stderr } = await runHeadrace(command);
      expect(code).toBe(1);
      expect(stderr).toContain('version 999');
      expect(stderr).toContain('--state');
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    expect(readFileSync(join(state, 'state.json'), 'utf8')).toBe(text);
    expect(readdirSync(state).sort()).toEqual(['data', 'state.json']);
  });

  test.each(['{"some":"other"}', 'not json', ''])('a state file that holds %j', async (text) => {
    const state = temporaryFolder();
    writeFileSync(join(state, 'state.json'), text);
    const { code, stderr } = await runHeadrace(startServersIn(state));
    expect(code).toBe(1);
    expect(stderr).toContain('is not a headrace state file');
    expect(readdirSync(state)).toEqual(['state.json']);
  });

  test("a folder with somebody's files", async () => {
    const state = temporaryFolder();
    writeFileSync(join(state, 'thesis.txt'), 'years of work');
    const { code, stderr } = await runHeadrace(startServersIn(state));
    expect(code).toBe(1);
    expect(stderr).toContain('thesis.txt');
    expect((await runHeadrace(['down', '--purge', '--state', state])).code).toBe(0);
    expect(readdirSync(state)).toEqual(['thesis.txt']);
  });

  test('down where nothing was ever started makes nothing', async () => {
    const state = join(temporaryFolder(), 'never');
    const { code, stderr } = await runHeadrace(['down', '--state', state]);
    expect(code).toBe(0);
    expect(stderr).toContain('nothing is running');
    expect(existsSync(state)).toBe(false);
    expect(existsSync(dirname(state))).toBe(true);
  });
});

describe('a wrong setting', () => {
  test.each(['api', 'pipeline'])('ends %s with 2 and names the variable', async (command) => {
    const { code, stderr } = await runHeadrace([command], { HEADRACE_API_PORT: 'many' });
    expect(code).toBe(2);
    expect(stderr).toContain('HEADRACE_API_PORT: expected a whole number');
    expect(stderr).toContain('HEADRACE_KAFKA_BROKERS: expected host:port');
  });

  test('an S3 server in the environment without its keys is told before anything is started', async () => {
    const env = { HEADRACE_S3_ENDPOINT: 'http://127.0.0.1:1' };
    const { code, stderr } = await runHeadrace(startServersIn(temporaryFolder()), env);
    expect(code).toBe(1);
    expect(stderr).toContain('HEADRACE_S3_BUCKET');
  });

  test.each([
    ['--brokers', 'HEADRACE_KAFKA_BROKERS', '127.0.0.1:1'],
    ['--members', 'HEADRACE_MONGO_URL', 'mongodb://127.0.0.1:1'],
  ])('%s beside an address of somebody else is refused', async (option, variable, value) => {
    const args = [...startServersIn(temporaryFolder()), option, '3'];
    const { code, stderr } = await runHeadrace(args, { [variable]: value });
    expect(code).toBe(1);
    expect(stderr).toContain(`${option} 3`);
    expect(stderr).toContain(variable);
  });

  test('a port that is none is refused before anything is started', async () => {
    const env = { HEADRACE_API_PORT: 'many' };
    const { code, stderr } = await runHeadrace(startServersIn(temporaryFolder()), env);
    expect([code, stderr]).toEqual([
      1,
      'headrace: HEADRACE_API_PORT: expected a port from 0 (any) to 65535, not many\n',
    ]);
  });
});

test('required options are marked in the help', async () => {
  const { stdout } = await runHeadrace(['admin', 'attribute', 'create', '--help']);
  expect(stdout).toMatch(/--partner <id> .*\(required\)/);
  expect(stdout).toMatch(/--name <name> .*\(required\)/);
  expect(stdout).not.toMatch(/--foreign-key <key> .*\(required\)/);
});

describe('HEADRACE_SERVERS', () => {
  const start = (state: string, servers: string, ...more: string[]) =>
    runHeadrace([...startServersIn(state), ...more], {
      HEADRACE_SERVERS: servers,
      DOCKER_HOST: 'unix:///nowhere.sock',
    });
  const oneLine = (text: RegExp) => expect.stringMatching(new RegExp(`^headrace: ${text.source}.*\n$`));

  test('is docker or local', async () => {
    const { code, stderr } = await start(temporaryFolder(), 'podman');
    expect([code, stderr]).toEqual([1, oneLine(/HEADRACE_SERVERS: expected docker or local, not podman/)]);
  });

  test('docker: neither without an engine, nor for a cluster or logins', async () => {
    const none = await start(temporaryFolder(), 'docker');
    expect([none.code, none.stderr]).toEqual([1, oneLine(/no Docker engine responds/)]);
    for (const more of [['--brokers', '3'], ['--secure']]) {
      const { code, stderr } = await start(temporaryFolder(), 'docker', ...more);
      expect([code, stderr]).toEqual([1, oneLine(/clusters and --secure run as local processes only/)]);
    }
  });

  test('cannot move data that is elsewhere', async () => {
    const state = temporaryFolder();
    const folder = openState(state);
    folder.state.runtime = 'docker';
    folder.save();
    const { code, stderr } = await start(state, 'local');
    expect([code, stderr]).toEqual([
      1,
      oneLine(/the data of this state folder is in volumes of the Docker engine/),
    ]);
  });
});
