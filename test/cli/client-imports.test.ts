/** `headrace import …` against the real service, as a partner's scripts run it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { importLog } from '../../schemas/http-answers.ts';
import { dryRun } from '../../schemas/http-dry-runs.ts';
import { bigFile, file, ids } from '../support/rows.ts';
import { runHere } from '../support/run-here.ts';
import { type Service, sharedService } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { createTerminal, provision, type Variables, variablesOf } from './partner.ts';

let service: Service;
let variables: Variables;
let attribute: number;
const { run, json, lines, failure } = createTerminal(() => variables, runHere);

beforeAll(async () => {
  service = await sharedService();
  const partner = await provision(service);
  attribute = await partner.attribute();
  await partner.attribute('mine');
  variables = variablesOf(partner.issued, service.apiUrl);
});

/** Writes local files by name. Returns their folder. */
function localFiles(files: Record<string, string | Uint8Array>): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

const submit = (...args: string[]) => json('import', 'submit', '--upload', '--follow', ...args);

describe('submit --upload --follow', () => {
  it('a file: its record when it is done, and nothing else on standard output', async () => {
    const folder = localFiles({ 'devices.csv': file(ids(50), attribute) });
    const log = await submit(join(folder, 'devices.csv'));
    expect(importLog.parse(log)).toMatchObject({ status: 2, total_rows: '50', unique_devices: '50' });
    expect(log.file_path).toMatch(/^uploads\/\d{8}T\d{6}Z-[0-9a-f]{6}\/devices\.csv$/);
  });

  it('a folder, with every kind of name; hidden files stay at home', async () => {
    const folder = localFiles({
      'in/a name, with spaces.csv': file(ids(3), attribute),
      'in/it\'s "quoted".csv': file(ids(3), attribute),
      'in/größe-日本.csv': file(ids(3), attribute),
      'in/a+b&c=d%20#?.csv': file(ids(3), attribute),
      'in/deeper/still/x.csv': file(ids(3), attribute),
      'in/.hidden': 'not a row',
      'in/deeper/_SUCCESS': '',
    });
    const log = await submit(join(folder, 'in'));
    expect(log).toMatchObject({ status: 2, total_rows: '15', unique_devices: '15' });
    const files = await json('import', 'files', String(log.import_log_id));
    const prefix = variables.HEADRACE_STORAGE_URL!.split('/').slice(3).join('/') + log.file_path;
    expect(files.map((each: { s3_path: string }) => each.s3_path.slice(prefix.length)).sort()).toEqual(
      [
        'in/a name, with spaces.csv',
        'in/a+b&c=d%20#?.csv',
        'in/deeper/still/x.csv',
        'in/größe-日本.csv',
        'in/it\'s "quoted".csv',
      ].sort(),
    );
  });

  it('compressed files, with foreign keys, to a folder of choice', async () => {
    const gzipped = gzipSync(file(ids(7), 'mine'));
    const folder = localFiles({ '1.csv.gz': gzipped, '2.csv.gz': gzipSync(file(ids(7), 'mine')) });
    const [one, two] = [join(folder, '1.csv.gz'), join(folder, '2.csv.gz')];
    const log = await submit('--foreign-keys', '--to', 'day/1', one, two);
    expect(log).toMatchObject({ status: 2, key_type: 1, file_path: 'day/1/', total_rows: '14' });
    // The same objects, without an upload.
    const again = await json('import', 'submit', 'day/1/', '--compressed', '--foreign-keys', '--follow');
    expect(again).toMatchObject({ status: 2, total_rows: '14' });
  });

  it('a file that is sent in parts', async () => {
    const folder = localFiles({ 'large.csv': bigFile(450_000, attribute) });
    expect(await submit(join(folder, 'large.csv'))).toMatchObject({ status: 2, unique_devices: '450000' });
  });

  it('what cannot be right is refused before anything is uploaded', async () => {
    const folder = localFiles({ 'a/x.csv': 'x', 'b/x.csv': 'x', 'c/y.csv.gz': 'x', 'd/_z': 'x' });
    mkdirSync(join(folder, 'empty'));
    const refused = async (...paths: string[]) => {
      const args = paths.map((path) => join(folder, path));
      return (await failure(2, 'import', 'submit', '--upload', ...args)).message;
    };
    expect(await refused('missing')).toContain('missing does not exist');
    expect(await refused('empty')).toContain('has no files to upload');
    expect(await refused('a/x.csv', 'b/x.csv')).toContain('two files have the name x.csv');
    expect(await refused('a/x.csv', 'd/_z')).toContain('upload it alone');
  });
});

describe('submit', () => {
  it('several paths, a job each, in their order', async () => {
    const { stdout } = await run('import', 'submit', 'none/1.csv', 'none/2.csv', '--json');
    const [first, second] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toEqual({ import_log_id: expect.any(Number), file_path: 'none/1.csv' });
    expect(second).toEqual({ import_log_id: expect.any(Number), file_path: 'none/2.csv' });
    expect(second.import_log_id).toBeGreaterThan(first.import_log_id);
  });

  it('a job that ends with errors is told: 5', async () => {
    const folder = localFiles({ 'bad.csv': 'this,is\nnot,it\n' });
    const args = ['import', 'submit', '--upload', '--follow', join(folder, 'bad.csv')];
    const error = await failure(5, ...args);
    const log = importLog.parse(JSON.parse(error.stdout));
    expect(error).toMatchObject({
      code: 'job_failed',
      message: `job ${log.import_log_id} failed`,
    });
    expect(log.errors).toMatchObject([{ code: 'too_many_invalid' }]);
    const plain = await run(...args);
    expect(plain.code).toBe(5);
    expect(plain.stdout).toContain('too_many_invalid');
    expect(plain.stderr).toMatch(/^rejected rows: 2 bad_identifier; .*\nheadrace: job \d+ failed\n$/);
  });

  it('what the service refuses is told with its reasons and the request: 1', async () => {
    expect(await failure(1, 'import', 'submit', '../x')).toMatchObject({
      code: 'invalid_body',
      message: expect.stringContaining('file_path: must not contain a . or .. segment'),
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(await failure(1, 'import', 'show', '999999')).toMatchObject({ code: 'not_found' });
  });

  it('your own bucket without its keys: 2', async () => {
    expect((await failure(2, 'import', 'submit', 's3://own-bucket/x')).message).toContain(
      'AWS_ACCESS_KEY_ID',
    );
  });
});

describe('submit --dry-run', () => {
  it('says what would be loaded and rejected, ends with 5 if a load would, and queues nothing', async () => {
    const before = await json('import', 'list');
    const good = file(ids(30), attribute);
    const folder = localFiles({
      'good.csv': good,
      'some.csv': `${good}neither,${attribute}\n`,
      'bad.csv': 'x,1\n',
    });
    const dry = ['import', 'submit', '--upload', '--dry-run'];
    const [verdict, ...shown] = await lines(...dry, join(folder, 'some.csv'));
    expect(verdict).toMatch(/some\.csv {2}would succeed {2}30 of 31 rows accepted$/);
    expect(shown.join('\n')).toMatch(/some\.csv:31: neither,\d+ \(bad_identifier\)$/);

    const whole = await json(...dry, join(folder, 'good.csv'));
    expect(dryRun.parse(whole)).toMatchObject({ status: 2, complete: true, rows_accepted: 30 });
    const error = await failure(5, ...dry, folder);
    expect(error.code).toBe('job_failed');
    expect(dryRun.parse(JSON.parse(error.stdout))).toMatchObject({ status: 3, files: 3, rows_accepted: 60 });
    expect(await json('import', 'list')).toEqual(before);
  });
});

describe('list, show, files', () => {
  it('as tables without colours in a pipe, and as the records of the API', async () => {
    const folder = localFiles({
      'shown.csv': file(ids(5), attribute),
    });
    const log = await submit(join(folder, 'shown.csv'));
    const id = String(log.import_log_id);
    const [heading, first] = await lines('import', 'list', '--limit', '1', '--search', 'shown.csv');
    expect(heading).toMatch(/^ID +STATUS {2}ROWS {2}REJECTED {2}DEVICES {2}CREATED {2,}PATH$/);
    expect(first).toMatch(new RegExp(`^${id} +done +5 +0 +5 {2}.*${log.file_path}$`));
    expect(await json('import', 'list', '--limit', '1', '--status', 'done', '--search', 'shown')).toEqual([
      log,
    ]);
    expect(await json('import', 'show', id)).toEqual(log);
    expect((await lines('import', 'show', id)).join('\n')).toMatch(/^job +\d+\nstatus +done\npath +uploads/);
    expect((await lines('import', 'files', id)).at(-1)).toMatch(/^done +5 +5 +0 {2}.*shown\.csv$/);
    expect(await json('import', 'show', id, '--follow')).toEqual(log);
  });
});

describe('rejects', () => {
  it('are shown, written to a file, corrected, and submitted as a job that names the old one', async () => {
    const good = file(ids(100), attribute);
    const folder = localFiles({
      'mixed.csv': `${good}${file(['not-a-device', 'nor-this', 'x'.repeat(300)], attribute)}`,
    });
    const log = await submit(join(folder, 'mixed.csv'));
    const id = String(log.import_log_id);
    const shown = await lines('import', 'rejects', id);
    expect(shown).toEqual([
      expect.stringMatching(new RegExp(`mixed\\.csv:101 {2}bad_identifier {2}not-a-device,${attribute}$`)),
      expect.stringMatching(/:102 {2}bad_identifier/),
      expect.stringMatching(/:103 {2}bad_identifier {2}x{200} …$/),
    ]);
    const { stdout } = await run('import', 'rejects', id, '--json');
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).line),
    ).toEqual([101, 102, 103]);

    const output = join(folder, 'rejects.csv');
    expect(await json('import', 'rejects', id, '--output', output)).toMatchObject({
      rows: 2,
      truncated: 1,
      output,
    });
    const written = readFileSync(output, 'utf8');
    expect(written).toBe(`device_id,key\nnot-a-device,${attribute}\nnor-this,${attribute}\n`);
    expect((await failure(1, 'import', 'rejects', id, '--output', output)).code).toBe('unwritable');
    expect(readFileSync(output, 'utf8')).toBe(written);

    writeFileSync(output, `device_id,key\n${file(ids(2), attribute)}`);
    const fixed = await json('import', 'rejects', id, '--resubmit', output, '--follow');
    expect(fixed).toMatchObject({ status: 2, total_rows: '2', unique_devices: '2' });
    expect(fixed.file_path).toMatch(new RegExp(`^rejects-of-job-${id}/.*/rejects\\.csv$`));
  });

  it('of a file that failed as a whole, it is said that correcting them is not enough', async () => {
    const folder = localFiles({ 'worse.csv': 'this,is\nnot,it\n' });
    const [log] = [
      JSON.parse(
        (await run('import', 'submit', '--upload', '--follow', '--json', join(folder, 'worse.csv'))).stdout,
      ),
    ];
    const outcome = await run(
      'import',
      'rejects',
      String(log.import_log_id),
      '--output',
      join(folder, 'r.csv'),
    );
    expect([outcome.code, existsSync(join(folder, 'r.csv'))]).toEqual([0, true]);
    expect(outcome.stderr).toMatch(/worse\.csv failed and none of its rows/);
  });
});

describe('delete', () => {
  it('asks for --yes where nobody can be asked, and removes the data', async () => {
    const { stdout, code } = await run('import', 'delete', String(attribute), '--yes', '--follow', '--json');
    const log = importLog.parse(JSON.parse(stdout));
    expect([code, log.status, log.log_type, log.keys]).toEqual([0, 2, 1, [String(attribute)]]);
    expect(Number(log.unique_devices)).toBeGreaterThan(0);
    const unknown = await failure(1, 'import', 'delete', '9999999', '--yes');
    expect(unknown).toMatchObject({ code: 'unknown_keys', message: expect.stringContaining('9999999') });
  });

  it('an attribute is renamed, then deleted with its data', async () => {
    const id = String(attribute);
    expect((await run('attribute', 'rename', id, 'Red cars')).stdout).toBe(
      `attribute ${id} is now named Red cars\n`,
    );
    expect((await run('attribute', 'list')).stdout).toMatch(new RegExp(`^ *${id} .* Red cars$`, 'm'));
    expect((await failure(2, 'attribute', 'delete', id)).message).toContain('--yes');
    const { stdout, code } = await run('attribute', 'delete', id, '--yes', '--follow', '--json');
    expect([code, JSON.parse(stdout).keys]).toEqual([0, [id]]);
    expect(await failure(1, 'attribute', 'rename', id, 'Blue')).toMatchObject({ code: 'not_found' });
  });
});
