/** `headrace audience …` and `headrace privacy …` against the real service. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { audience, audienceDetails, rejectedRow } from '../../schemas/http-answers.ts';
import { composition } from '../../schemas/http-composition.ts';
import { privacyRequestDetails } from '../../schemas/http-privacy.ts';
import { file, ids } from '../support/rows.ts';
import { runHere } from '../support/run-here.ts';
import { type Service, sharedService } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { createTerminal, provision, type Variables, variablesOf } from './partner.ts';

let service: Service;
let variables: Variables;
let tokenOf: (customer: string) => Promise<string>;
const { run, json, lines, failure } = createTerminal(() => variables, runHere);

beforeAll(async () => {
  service = await sharedService();
  const { issued, admin } = await provision(service);
  variables = variablesOf(issued, service.apiUrl);
  await admin('token-key', 'create', '--partner', issued.partner_id);
  tokenOf = async (customer) => {
    const args = ['user-token', '--partner', issued.partner_id, '--customer', customer];
    return (await admin<{ user_token: string }>(...args)).user_token;
  };
});

it('is created, appended to, shown, listed, reported and cleared', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'day 1'));
  const devices = ids(40);
  writeFileSync(join(folder, 'day 1', 'a.csv'), file(devices.slice(0, 20), 'visit'));
  writeFileSync(join(folder, 'day 1', 'b.csv.gz'), gzipSync(file(devices.slice(10, 30), 'purchase')));
  writeFileSync(join(folder, 'c.csv'), file(devices.slice(25), 'visit'));

  const create = ['audience', 'create', '--name', 'Visitors', '--upload', '--follow'];
  const tried = await json(...create, '--dry-run', join(folder, 'day 1'));
  expect(tried).toMatchObject({ status: 2, files: 2, rows_accepted: 40 });
  expect(await json('audience', 'list')).toEqual([]);
  const created = await json(...create, join(folder, 'day 1'));
  expect(created).toMatchObject({ status: 2, files: 2, total_rows: 40, unique_devices: 30, new_devices: 30 });
  const id = String(created.audience_id);
  expect(created.load_id).toBe(created.audience_id);

  const appended = await json('audience', 'append', id, '--upload', '--follow', join(folder, 'c.csv'));
  expect(appended).toMatchObject({ status: 2, unique_devices: 15, new_devices: 10, audience_devices: 40 });
  const queued = await json('audience', 'append', id, appended.file_path);
  expect(queued).toEqual({
    audience_id: created.audience_id,
    load_id: expect.any(Number),
    file_path: appended.file_path,
  });
  const followed = await json('audience', 'show', id, '--follow');
  expect(followed).toMatchObject({ load_id: queued.load_id, status: 2, files: 0 });

  const record = audienceDetails.parse(await json('audience', 'show', id));
  expect(record).toMatchObject({ name: 'Visitors', unique_devices: 40 });
  expect(record.file).toHaveLength(3);
  const shown = await lines('audience', 'show', id);
  expect(shown.slice(0, 4).join('\n')).toMatch(/^audience +\d+\nname +Visitors\nstatus +done\ndevices +40$/);
  expect(shown.join('\n')).toMatch(/LOAD +STATUS +FILES/);
  expect(audience.array().parse(await json('audience', 'list', '--search', 'visit'))).toHaveLength(1);
  expect((await lines('audience', 'list')).at(-1)).toMatch(
    /^\d+ +done +40 +0 {2}.*\(by load\) +0 {2}.*Visitors$/,
  );

  const report = composition.parse(await json('audience', 'report', id));
  expect(report).toMatchObject({ unique_devices: 40, events: [{ event: 'visit' }, { event: 'purchase' }] });
  expect((await lines('audience', 'report', id)).join('\n')).toMatch(/devices +40\n[\s\S]*Events\nEVENT/);
  expect((await lines('audience', 'report', id, '--csv'))[0]).toMatch(
    /^section,id,name,owner,visibility,devices/,
  );
  expect(composition.parse(await json('audience', 'report', id, '--own')).attributes).toEqual([]);

  const shared = await json('audience', 'share', id, '--expires', '1h');
  expect(Date.parse(shared.expires_at) - Date.now()).toBeLessThanOrEqual(3_600_000);
  const opened = await fetch(shared.url, { redirect: 'manual' });
  expect([opened.status, opened.headers.get('location')]).toEqual([
    303,
    expect.stringMatching(new RegExp(`/console/segments/${record.default_warehouse_segment_id}$`)),
  ]);
  expect((await failure(2, 'audience', 'share', id, '--expires', '31d')).message).toContain('30d');

  expect((await failure(2, 'audience', 'clear', id)).message).toContain('--yes');
  expect(await json('audience', 'clear', id, '--yes')).toEqual({
    audience_id: created.audience_id,
    cleared: true,
  });
  expect(await json('audience', 'show', id)).toMatchObject({ unique_devices: 0, file: [] });
  const cleared = (await lines('audience', 'show', id)).join('\n');
  expect(cleared).toMatch(/^cleared +\d{4}-/m);
  expect(cleared).toMatch(/^\d+ +done, cleared {2}/m);
});

it('rejected rows are pointed out and shown; a load with errors ends with 5', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'mixed.csv'), `${file(ids(50), '')}nobody,\n`);
  writeFileSync(join(folder, 'bad.csv'), 'one column\n');
  const create = ['audience', 'create', '--name', 'Mixed', '--upload', '--follow'];
  const outcome = await run(...create, join(folder, 'mixed.csv'));
  const [, id] = /^audience (\d+) {2}load \d+ {2}done, 1 rejected {2}/.exec(outcome.stdout)!;
  expect([outcome.code, outcome.stderr]).toEqual([
    0,
    `rejected rows: 1 bad_identifier; show them with: headrace audience rejects ${id}\n`,
  ]);
  const { stdout } = await run('audience', 'rejects', id!, '--json');
  expect(rejectedRow.loose().parse(JSON.parse(stdout))).toMatchObject({ line: 51, raw: 'nobody,' });
  expect(await lines('audience', 'rejects', id!)).toEqual([
    expect.stringMatching(/mixed\.csv:51 {2}bad_identifier {2}nobody,$/),
  ]);

  const failed = await failure(5, ...create, join(folder, 'bad.csv'));
  expect(failed.code).toBe('job_failed');
  expect(JSON.parse(failed.stdout)).toMatchObject({ status: 3, errors: [{ code: 'column_count' }] });
});

it('a person’s request is made, waited for, listed and shown, and its receipt saved', async () => {
  const folder = temporaryFolder();
  const at = (name: string) => join(folder, name);
  const [gone, kept, unknown] = ids(3) as [string, string, string];
  writeFileSync(at('runners.csv'), file([gone, kept], 'run'));
  const created = await json(
    'audience',
    'create',
    '--name',
    'Runners',
    '--upload',
    '--follow',
    at('runners.csv'),
  );
  writeFileSync(at('list.txt'), `${gone.toUpperCase()}\n\n${unknown.replaceAll('-', '')}\n`);
  const request = ['privacy', 'request', at('list.txt'), '--type'];
  const answer = privacyRequestDetails.parse(await json(...request, 'access', '--follow'));
  expect(answer).toMatchObject({ status: 2, identifiers: 2, found: 1 });
  expect(answer.devices).toMatchObject([
    { identifier: gone, audiences: [{ audience_id: created.audience_id, events: ['run'] }] },
  ]);
  const erase = [...request, 'delete', '--yes', '--follow', '--receipt', at('receipt.jws')];
  const erased = await run(...erase);
  expect([erased.code, erased.stderr]).toEqual([0, `wrote the receipt to ${at('receipt.jws')}\n`]);
  const [, id] = /^request +(\d+)$/m.exec(erased.stdout)!;
  const shown = privacyRequestDetails.parse(await json('privacy', 'show', id!));
  expect(readFileSync(at('receipt.jws'), 'utf8')).toBe(`${shown.receipt}\n`);
  expect((await lines('privacy', 'list'))[1]).toMatch(new RegExp(`^ *${id} +delete +done +2 +1 `));

  writeFileSync(at('list.txt'), `${gone}\n${kept}x\n`);
  const refused = await failure(1, ...request, 'restore');
  expect(refused).toMatchObject({ code: 'bad_identifier', message: expect.stringContaining('line 2') });
  expect(JSON.stringify(refused)).not.toContain(kept);
  expect((await failure(2, ...request, 'restore', '--path', 'x.csv')).message).toContain(
    'pass either a file',
  );
  const failed = await failure(
    5,
    'privacy',
    'request',
    '--type',
    'restore',
    '--path',
    'none.csv',
    '--follow',
  );
  expect(JSON.parse(failed.stdout)).toMatchObject({ status: 3, errors: [{ code: 'no_files' }] });
});

it('a user token confines it to a customer', async () => {
  const token = await tokenOf('shop');
  const own = ['--user-token', token];
  const { audience_id } = await json('audience', 'create', '--name', 'Of the shop', 'none.csv', ...own);
  const ofOthers = ['--user-token', await tokenOf('other')];
  expect(await json('audience', 'list', ...ofOthers)).toEqual([]);
  expect((await json('audience', 'list', ...own))[0]).toMatchObject({ audience_id });
  expect(await failure(1, 'audience', 'show', String(audience_id), ...ofOthers)).toMatchObject({
    code: 'not_found',
  });
  expect(await failure(4, 'audience', 'list', '--user-token', 'forged')).toMatchObject({
    code: 'bad_user_token',
  });
});

it('more than one path: 2', async () => {
  const { message } = await failure(2, 'audience', 'create', '--name', 'N', 'x', 'y');
  expect(message).toContain('an audience is created from one path');
});
