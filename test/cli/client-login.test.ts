/** `headrace login`, profiles, and the messages when keys or the service are missing. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { anyFreePort } from '../../deploy/local/ports.ts';
import { startHeadrace } from '../support/run-headrace.ts';
import { type Service, sharedService } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { hasTerminals, startInTerminal } from './in-terminal.ts';
import {
  createTerminal,
  emptyHome,
  type IssuedPartner,
  provision,
  type Variables,
  variablesOf,
} from './partner.ts';

let service: Service;
let issued: IssuedPartner;
let variables: Variables;
const { run, json, failure } = createTerminal(() => variables);

beforeAll(async () => {
  service = await sharedService('idle');
  ({ issued } = await provision(service));
});

const fileIn = (home: Variables) => join(home.XDG_CONFIG_HOME!, 'headrace', 'config.toml');

describe('login', () => {
  it('tries the keys and keeps them where only their owner can read them', async () => {
    variables = variablesOf(issued, service.apiUrl);
    const home = { XDG_CONFIG_HOME: variables.XDG_CONFIG_HOME! };
    const told = await json('login');
    expect(told).toEqual({
      profile: 'default',
      config: fileIn(home),
      api_url: service.apiUrl,
      storage_url: variables.HEADRACE_STORAGE_URL,
    });
    expect((statSync(fileIn(home)).mode & 0o777).toString(8)).toBe('600');
    expect(readdirSync(join(home.XDG_CONFIG_HOME, 'headrace'))).toEqual(['config.toml']);

    variables = home;
    expect(await json('import', 'list')).toEqual([]);
    // The environment overrides the profile, and a flag overrides the environment.
    variables = { ...home, HEADRACE_API_KEY: 'wrong' };
    expect((await failure(4, 'import', 'list')).code).toBe('unauthorized');
    expect(await json('import', 'list', '--api-key', issued.api_key)).toEqual([]);
  });

  it('reads what the operator hands over, and keeps several profiles', async () => {
    variables = emptyHome();
    const loginWith = async (input: string, ...args: string[]) => {
      const { child, outcome } = startHeadrace(['login', '--stdin', ...args, '--json'], variables, {
        stdin: 'pipe',
      });
      child.stdin!.end(input);
      return outcome;
    };
    const whole = await loginWith(JSON.stringify(issued), '--api-url', service.apiUrl, '--profile', 'acme');
    expect([whole.code, whole.stderr]).toEqual([0, '']);
    expect(JSON.parse(whole.stdout).storage_url).toBe(`s3://${issued.s3.bucket}/${issued.s3.prefix}`);
    const keyAlone = await loginWith(
      `${issued.api_key}\n`,
      '--api-url',
      service.apiUrl,
      '--profile',
      'reader',
    );
    expect([keyAlone.code, JSON.parse(keyAlone.stdout).storage_url]).toEqual([0, null]);
    const text = readFileSync(fileIn(variables), 'utf8');
    expect(text).toMatch(/default = "reader"[\s\S]*\[profiles.acme\][\s\S]*\[profiles.reader\]/);

    const upload = ['import', 'submit', '--upload', join(temporaryFolder(), 'x.csv')];
    writeFileSync(upload.at(-1)!, 'x,1\n');
    expect((await failure(4, ...upload)).message).toContain('no storage_url: run headrace login');
    expect(await json(...upload, '--profile', 'acme')).toMatchObject({ import_log_id: expect.any(Number) });
    expect((await failure(2, 'import', 'list', '--profile', 'nobody')).message).toContain(
      'profile nobody does not exist',
    );
  });

  it('keeps nothing that does not work', async () => {
    variables = { ...variablesOf(issued, service.apiUrl), HEADRACE_API_KEY: 'hr_wrong' };
    expect((await failure(4, 'login')).code).toBe('unauthorized');
    variables = { ...variablesOf(issued, service.apiUrl), HEADRACE_STORAGE_SECRET_ACCESS_KEY: 'wrong' };
    expect((await failure(4, 'login')).code).toBe('storage_denied');
    expect(readdirSync(variables.XDG_CONFIG_HOME!)).toEqual([]);
  });

  it.runIf(hasTerminals)('asks at a terminal, and does not show the secrets', async () => {
    const home = emptyHome();
    const { s3, api_key } = issued;
    const terminal = startInTerminal(['login'], home);
    await terminal.type(`${service.apiUrl}\r`, 'api_url');
    await terminal.type(`${api_key}\r`, 'api_key');
    await terminal.type(`s3://${s3.bucket}/${s3.prefix}\r`, 'storage_url');
    await terminal.type(`${s3.endpoint}\r`, 'storage_endpoint');
    await terminal.type(`${s3.region}\r`, 'storage_region');
    await terminal.type(`${s3.access_key_id}\r`, 'storage_access_key_id');
    await terminal.type(`${s3.secret_access_key}\r`, 'storage_secret_access_key');
    const { code, screen } = await terminal.end();
    expect([code, screen]).toEqual([0, expect.stringContaining('saved as profile default')]);
    expect(screen).not.toContain(api_key.slice(3));
    expect(screen).not.toContain(s3.secret_access_key);
    variables = home;
    expect(Array.isArray(await json('import', 'list'))).toBe(true);
  });
});

describe('without what it needs', () => {
  it('no key: 4, and how to get one', async () => {
    variables = emptyHome();
    expect(await failure(4, 'import', 'list')).toMatchObject({ code: 'not_logged_in' });
    variables = { ...emptyHome(), HEADRACE_API_URL: service.apiUrl };
    expect((await failure(4, 'audience', 'list')).message).toBe(
      'no api_key: run headrace login, set HEADRACE_API_KEY, or use --api-key',
    );
  });

  it('a service that does not answer: 1, in one line', async () => {
    const url = `http://127.0.0.1:${await anyFreePort()}`;
    variables = { ...variablesOf(issued, url) };
    expect(await failure(1, 'import', 'list')).toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(`^the service at ${url} does not answer: .*ECONNREFUSED`),
    });
    const { code, stdout, stderr } = await run('import', 'list');
    expect([code, stdout, stderr.trimEnd().split('\n')]).toEqual([1, '', [expect.stringContaining(url)]]);
  });

  it('an address that is not the service’s: 1 or 2, never a stack trace', async () => {
    variables = variablesOf(issued, `${service.apiUrl}/docs`);
    expect((await failure(1, 'import', 'list')).code).toBe('not_found');
    variables = variablesOf(issued, service.metricsUrl);
    expect((await failure(1, 'import', 'list')).code).toBe('not_headrace');
    variables = variablesOf(issued, 'nonsense');
    expect((await failure(2, 'import', 'list')).message).toContain(
      'nonsense is not the address of a service',
    );
  });

  it('a storage that does not answer or denies: 1 or 4, and nothing is submitted', async () => {
    const source = join(temporaryFolder(), 'x.csv');
    writeFileSync(source, 'x,1\n');
    const jobs = async () => (await json('import', 'list')).length;
    variables = variablesOf(issued, service.apiUrl);
    const before = await jobs();
    variables.HEADRACE_STORAGE_ENDPOINT = `http://127.0.0.1:${await anyFreePort()}`;
    const away = await failure(1, 'import', 'submit', '--upload', source);
    expect([away.code, away.message]).toEqual([
      'storage_unreachable',
      expect.stringContaining('x.csv was not uploaded'),
    ]);
    variables = {
      ...variablesOf(issued, service.apiUrl),
      HEADRACE_STORAGE_URL: `s3://${issued.s3.bucket}/of-others/`,
    };
    expect((await failure(4, 'import', 'submit', '--upload', source)).code).toBe('storage_denied');
    expect(await jobs()).toBe(before);
  });

  it('a broken file of profiles: 1, and which it is', async () => {
    variables = variablesOf(issued, service.apiUrl);
    await json('login');
    writeFileSync(fileIn(variables), 'profiles = 3');
    expect((await failure(1, 'import', 'list')).message).toBe(
      `${fileIn(variables)}: profiles must be a table`,
    );
  });
});
