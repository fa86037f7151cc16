/** The command line as a partner installs it from the API: one file in an empty folder, with this Node and nothing else. */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { account, usage } from '../../schemas/http-account.ts';
import { attribute, importLog } from '../../schemas/http-answers.ts';
import { composition } from '../../schemas/http-composition.ts';
import { isSigned, startReceiver } from '../api/webhook-receiver.ts';
import { blocksIn, pages } from '../support/documentation.ts';
import { file, ids } from '../support/rows.ts';
import { follow, type Outcome, type RunningHeadrace } from '../support/run-headrace.ts';
import { type Service, sharedService } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';
import { type IssuedPartner, provision } from './partner.ts';

let service: Service;
let issued: IssuedPartner;
let attributeId: number;
/** The partner's home; no parent folder belongs to a Node project. */
const home = mkdtempSync(join(tmpdir(), 'headrace-installed-'));
const env = {
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  HOME: home,
  XDG_CONFIG_HOME: join(home, 'config'),
};

function start(args: readonly string[], { input = '', program = './headrace' } = {}): RunningHeadrace {
  const child = spawn(program, args, { cwd: home, env, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  return follow(child);
}
const run = (...args: string[]): Promise<Outcome> => start(args).outcome;
// biome-ignore lint/suspicious/noExplicitAny: what the command printed
async function json(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

/** The install line of the page. */
const installLine = blocksIn(pages['api/README.md']!)
  .flatMap(({ text }) => text.split('\n'))
  .find((line) => line.startsWith('curl') && line.includes('/cli'))!;

beforeAll(async () => {
  service = await sharedService();
  const partner = await provision(service);
  issued = partner.issued;
  attributeId = await partner.attribute('red');
  const script = installLine.replaceAll('https://import.example.com', service.apiUrl);
  const said = execFileSync('sh', ['-ec', script], { cwd: home, env, encoding: 'utf8' });
  expect(said).toBe('headrace: OK\n');
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

it('is one file, the same that npm run build:cli makes, and runs beside any package.json', async () => {
  expect(readdirSync(home)).toEqual(['headrace']);
  const bytes = readFileSync(join(home, 'headrace'));
  const built = join(home, 'built');
  const build = fileURLToPath(new URL('../../deploy/build-cli.mjs', import.meta.url));
  const said = execFileSync(process.execPath, [build, built], { encoding: 'utf8' });
  const checksum = createHash('sha256').update(bytes).digest('hex');
  expect(said).toContain(`SHA-256 ${checksum}`);
  expect(readFileSync(join(built, 'headrace')).equals(bytes)).toBe(true);
  const text = bytes.toString();
  expect(text).toContain('Copyright (c) 2011 TJ Holowaychuk');
  expect(text).toContain('Copyright (c) Squirrel Chat');
  expect(text.match(/Apache License\n +Version 2\.0, January 2004/g)).toHaveLength(1);

  const response = await fetch(`${service.apiUrl}/cli`);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    etag: `W/"${checksum}"`,
    'content-type': 'text/javascript; charset=utf-8',
    'x-headrace-version': packageJson.version,
  });
  expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
  const again = await fetch(`${service.apiUrl}/cli`, { headers: { 'if-none-match': `"${checksum}"` } });
  expect(again.status).toBe(304);

  for (const type of ['module', 'commonjs']) {
    const folder = join(home, type);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }));
    copyFileSync(join(home, 'headrace'), join(folder, 'headrace'));
    const { code, stdout, stderr } = await start(['--version'], { program: join(folder, 'headrace') })
      .outcome;
    expect([code, stdout, stderr]).toEqual([0, `${packageJson.version}\n`, '']);
  }
  const { stdout } = await run('--help');
  for (const name of ['login', 'import', 'audience', 'webhook', 'completion']) expect(stdout).toMatch(name);
  expect(stdout).not.toMatch(/admin|doctor|pipeline|npm start/);
});

it('from login to the report, with nothing but the file', async () => {
  const login = ['login', '--stdin', '--api-url', service.apiUrl];
  const loggedIn = await start(login, { input: JSON.stringify(issued) }).outcome;
  expect([loggedIn.code, loggedIn.stderr]).toEqual([0, '']);
  const { profile, api_url, storage_url, ...who } = await json('whoami');
  expect([profile, api_url]).toEqual(['default', service.apiUrl]);
  expect(storage_url).toBe(`s3://${issued.s3.bucket}/${issued.s3.prefix}`);
  expect(account.parse(who)).toMatchObject({
    partner_id: issued.partner_id,
    name: 'Acme',
    customer: null,
    prefix: issued.s3.prefix,
    key: { key: issued.api_key.slice(0, 11), scopes: ['read', 'import', 'audience', 'webhook', 'privacy'] },
  });

  const devices = ids(60);
  writeFileSync(join(home, 'red.csv'), file(devices.slice(0, 20), 'red'));
  writeFileSync(join(home, 'visitors.csv'), file(devices.slice(10), 'visit'));
  const receiver = await startReceiver();
  const listening = start(['webhook', 'listen', '--forward-to', `${receiver.url}/hook`]);
  const secret = await waitFor(() => /signed with (whsec_\S+)/.exec(listening.stdout())?.[1], {
    what: 'a stream of events',
  });

  const imported = await json('import', 'submit', '--upload', 'red.csv', '--foreign-keys', '--follow');
  expect(imported).toMatchObject({ status: 2, total_rows: '20', unique_devices: '20' });
  // Imports and audiences have a stream each: only waiting orders their events.
  const [ofImport] = await receiver.got('/hook', 1);
  expect(attribute.array().parse(await json('attribute', 'list'))).toMatchObject([
    { attribute_id: attributeId, partner_foreign_key: 'red', devices: 20 },
  ]);
  const created = await json('audience', 'create', '--name', 'V', '--upload', 'visitors.csv', '--follow');
  const id = String(created.audience_id);
  const report = composition.parse(await json('audience', 'report', id));
  expect(report).toMatchObject({
    unique_devices: 50,
    matched_devices: 10,
    attributes: [{ attribute_id: attributeId, devices: 10 }],
    events: [{ event: 'visit', devices: 50 }],
  });

  const [, ofLoad] = await receiver.got('/hook', 2);
  expect([await isSigned(ofImport!, secret), await isSigned(ofLoad!, secret)]).toEqual([[true], [true]]);
  const log = importLog.parse(await json('import', 'show', String(imported.import_log_id)));
  expect(ofImport!.event).toEqual({ type: 'import.ended', timestamp: log.updated_at, data: log });
  expect(ofLoad!.event).toMatchObject({
    type: 'load.ended',
    data: { audience_id: created.audience_id, status: 2 },
  });
  await waitFor(() => listening.stdout().includes('load.ended'), { what: 'the line of the load' });
  listening.child.kill('SIGINT');
  const listened = await listening.outcome;
  expect([listened.code, listened.stderr]).toEqual([130, 'headrace: stopped after 2 events\n']);
  expect(listened.stdout).toMatch(/import\.ended {2}job \d+ {2}done {2}answered 204 \(\d+ ms\)\n/);
  await receiver.close();

  const used = usage.parse(await json('usage'));
  expect(used.days.reduce((sum, { rows }) => sum + rows, 0)).toBe(70);
  expect(used.pending_jobs).toBe(0);

  expect(await json('audience', 'rename', id, 'Visitors')).toEqual({
    audience_id: created.audience_id,
    name: 'Visitors',
  });
  expect(await json('audience', 'list')).toMatchObject([{ name: 'Visitors' }]);
  const refused = await run('audience', 'delete', id);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/^headrace: not a terminal: pass --yes/),
  ]);
  await json('audience', 'delete', id, '--yes');
  expect(await json('audience', 'list')).toEqual([]);
  const gone = await run('audience', 'show', id, '--json');
  expect([gone.code, JSON.parse(gone.stderr).code]).toEqual([1, 'not_found']);

  expect(await json('logout')).toMatchObject({ profile: 'default' });
  expect(readFileSync(join(home, 'config', 'headrace', 'config.toml'), 'utf8')).not.toContain(issued.api_key);
  const without = await run('whoami', '--json');
  expect([without.code, JSON.parse(without.stderr).code]).toEqual([4, 'not_logged_in']);
});

it('wrong usage prints the help of the command, which names its exit codes', async () => {
  const { code, stderr } = await run('import', 'rejects', '1', '--output', 'a', '--resubmit', 'b');
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(
      /^headrace: --output and --resubmit are separate steps[^\n]*\n\nUsage: headrace import rejects /,
    ),
  ]);
});
