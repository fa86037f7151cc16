/** `headrace load` against the real service: the counts match what it generates, and it removes everything afterwards. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LoadReport } from '../../../deploy/cli/load/report.ts';
import { startApi } from '../../api/support.ts';
import { storageOf } from '../../support/run-headrace.ts';
import { runHere } from '../../support/run-here.ts';
import { type Service, sharedService } from '../../support/stack.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { waitFor } from '../../support/wait-for.ts';
import { createTerminal, type IssuedPartner, provision, type Variables, variablesOf } from '../partner.ts';

let service: Service;
let issued: IssuedPartner;
let variables: Variables;
let attributes: number;
const { run, json, lines, failure, start } = createTerminal(() => variables, runHere);

beforeAll(async () => {
  service = await sharedService();
  const partner = await provision(service);
  for (attributes = 0; attributes < 3; attributes++) await partner.attribute();
  issued = partner.issued;
  variables = variablesOf(issued, service.apiUrl);
});

async function objectsLeft(): Promise<string[]> {
  const { s3 } = issued;
  const client = storageOf(s3);
  const { Contents = [] } = await client.send(
    new ListObjectsV2Command({ Bucket: s3.bucket, Prefix: s3.prefix }),
  );
  client.destroy();
  return Contents.map(({ Key }) => Key!);
}

const shape = ['--files', '3', '--rows', '1000', '--jobs', '2', '--duplicates', '0.2', '--invalid', '0.03'];

describe('a load', () => {
  it('of imports: every count is right, and the files are deleted', async () => {
    const report: LoadReport = await json('load', ...shape, '--layout', 'a', '--attributes', '3', '--gzip');
    expect(report).toMatchObject({
      failed_jobs: 0,
      errors: [],
      counts: { wrong: [] },
      upload: { files: 6 },
      load: { jobs: 2, files: 6, rows: 6_000 },
      ramp: null,
    });
    // Files, rows, devices and three reject reasons, of two jobs.
    expect(report.counts.checked).toBe(12);
    expect(report.jobs.map(({ status, rows }) => [status, rows])).toEqual([
      [2, 3_000],
      [2, 3_000],
    ]);
    for (const { waiting, loading, merging, total } of report.jobs)
      expect(waiting + loading + merging).toBeCloseTo(total, 3);
    expect(report.samples.at(-1)).toMatchObject({ rows: 6_000, files: 6, queued: 0, in_flight: 0 });
    expect(await objectsLeft()).toEqual([]);
  });

  it('of audiences: every count is right, and they are deleted with the files', async () => {
    const report: LoadReport = await json('load', ...shape, '--layout', 'b', '--rate', '5/s');
    expect(report).toMatchObject({ failed_jobs: 0, counts: { checked: 12, wrong: [] } });
    expect(await json('audience', 'list')).toEqual([]);
    expect(await objectsLeft()).toEqual([]);
  });

  it('with the same seed has the same files; --keep leaves them', async () => {
    const once = ['--files', '2', '--rows', '50', '--seed', '7', '--keep'];
    const { code, stdout, stderr } = await run('load', ...once, '--prefix', 'kept/1');
    expect([code, stdout]).toEqual([0, expect.stringContaining('4 of 4 counts correct')]);
    expect(stderr).toContain(`kept s3://${issued.s3.bucket}/${issued.s3.prefix}kept/1/ and its audiences`);
    await json('load', ...once, '--prefix', 'kept/2');
    const [audience, other] = await json('audience', 'list');
    expect([audience.unique_devices, other.unique_devices]).toEqual([100, 100]);
    // Both prefixes in one audience: the second has no new devices.
    const appended = await json('audience', 'append', String(audience.audience_id), 'kept/1/', '--follow');
    expect(appended).toMatchObject({ unique_devices: 100, new_devices: 0 });
    expect(await failure(2, 'load', '--prefix', 'kept')).toMatchObject({
      message: 'kept/ is not empty: choose another --prefix',
    });
    expect(await objectsLeft()).toHaveLength(4);
  });

  it('whose jobs fail says so, with its report: 5', async () => {
    const error = await failure(5, 'load', '--files', '1', '--rows', '100', '--invalid', '0.5');
    expect(error).toMatchObject({ code: 'job_failed', message: '1 job failed' });
    const report: LoadReport = JSON.parse(error.stdout);
    expect(report.errors).toMatchObject([{ code: 'too_many_invalid', count: 1 }]);
    expect(report.counts.wrong.map(({ what }) => what)).toContain('unique_devices');
  });
});

it('a ramp says which rates hold, and submits its prefixes again and again', async () => {
  const ramp = ['--ramp', '1..2', '--step', '3s', '--files', '1', '--rows', '10'];
  const report: LoadReport = await json('load', ...ramp);
  const steps = report.ramp!.steps;
  expect(steps.map(({ rate, jobs }) => [rate, jobs])).toEqual(
    [
      [1, 3],
      [2, 6],
    ].slice(0, steps.length),
  );
  // On a slow machine no rate may hold; the result still has to follow from the steps.
  expect(steps.slice(0, -1).every(({ held }) => held)).toBe(true);
  expect(report.ramp!.highest_rate).toBe(steps.findLast(({ held }) => held)?.rate ?? null);
  expect(report).toMatchObject({ failed_jobs: 0, counts: { wrong: [] }, upload: { files: 1 } });
  expect(report.load.jobs).toBe(steps.reduce((sum, { jobs }) => sum + jobs, 0));
});

describe('Ctrl-C', () => {
  it('while it uploads: 130, and nothing stays', async () => {
    const before = await objectsLeft();
    const { child, outcome } = start('load', '--files', '100000', '--rows', '10');
    await waitFor(async () => (await objectsLeft()).length > before.length + 20, { what: 'uploads' });
    child.kill('SIGINT');
    const { code, stdout, stderr } = await outcome;
    expect([code, stdout]).toEqual([130, '']);
    expect(stderr).toMatch(/^headrace: interrupted; deleted \d+ files and 0 audiences$/m);
    expect(await objectsLeft()).toEqual(before);
  });

  it('while the jobs run: 130, and neither files nor audiences stay', async () => {
    const [files, audiences] = [await objectsLeft(), await json('audience', 'list')];
    // At this rate the second job is far away.
    const { child, outcome } = start('load', '--jobs', '2', '--rate', '1/h', '--files', '2', '--rows', '10');
    const isSubmitted = async () => (await json('audience', 'list')).length > audiences.length;
    await waitFor(isSubmitted, { what: 'the first job' });
    child.kill('SIGINT');
    const { code, stderr } = await outcome;
    expect([code, stderr]).toEqual([
      130,
      expect.stringContaining('interrupted; deleted 4 files and 1 audience\n'),
    ]);
    expect(await objectsLeft()).toEqual(files);
    expect(await json('audience', 'list')).toEqual(audiences);
  });
});

it('what cannot be done is said before anything is uploaded', async () => {
  const before = await objectsLeft();
  expect(await failure(1, 'load', '--layout', 'a', '--attributes', '500')).toMatchObject({
    code: 'too_few_attributes',
    message: expect.stringMatching(
      /^the load needs 500 attributes and you have 3: .*headrace admin attribute import.*ID$/,
    ),
  });
  for (const args of [
    ['--rate', 'fast'],
    ['--ramp', '1..2', '--rate', '1/s'],
    ['--report', '/no/such/folder/report'],
  ])
    expect((await failure(2, 'load', ...args)).code).toBe('usage');
  expect(await objectsLeft()).toEqual(before);
});

it('for a person it prints a summary, and where the report is', async () => {
  const report = join(temporaryFolder(), 'report');
  const { code, stdout, stderr } = await run('load', ...shape, '--report', `${report}.html`);
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^uploaded 6 files to load\/.*\n(.*\n)*the report is in .*\n$/m),
  ]);
  expect(stdout).toMatch(/^layout +b, audiences with events; seed \d+\nuploaded +6 files/);
  expect(stdout).toMatch(/LATENCY +P50[\s\S]+12 of 12 counts correct\n$/);
  expect(JSON.parse(readFileSync(`${report}.json`, 'utf8'))).toMatchObject({ load: { rows: 6_000 } });
  expect(existsSync(`${report}.html`)).toBe(true);
});

it('a service that does not say that it is one for tests is left alone', async () => {
  const real = await startApi({ HEADRACE_ALLOW_LOAD: '0' });
  try {
    expect(await failure(1, 'load', '--api-url', real.service.apiUrl)).toMatchObject({
      code: 'load_not_allowed',
      message: expect.stringContaining('HEADRACE_ALLOW_LOAD=1'),
    });
  } finally {
    await real.stop();
  }
  expect((await lines('load', '--help')).join('\n')).toContain('--duplicates');
});
