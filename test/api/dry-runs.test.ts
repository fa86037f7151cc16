/** Dry runs on the real service: they report what a load would do and change nothing. */
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { collections } from '../../schemas/documents.ts';
import type { DryRunDocument } from '../../schemas/dry-run-documents.ts';
import { dryRun as dryRunSchema } from '../../schemas/http-dry-runs.ts';
import { withService } from '../support/fixture.ts';
import { bigFile, file, ids } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';
import { AUDIENCE, type Call, callerOf, endOf, IMPORT } from './support.ts';

const test = withService({ env: { HEADRACE_TEST_DRY_RUN_MB: '1', HEADRACE_TEST_BATCH_BYTES: '20000' } });

async function dryRun(call: Call, path: string, body: object) {
  const reply = await call('POST', `${path}?dry_run=true`, { body });
  expect(reply.status).toBe(202);
  const location = reply.headers.get('location')!;
  expect(location).toContain(`${path}/dry-runs/${reply.json.dry_run_id}`);
  return dryRunSchema.parse(await endOf(call, location));
}

test('says what would be accepted and rejected, as the load then does', async ({ service, driver }) => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const call = await callerOf(service, driver, partner);
  const good = file(ids(200), attribute);
  await driver.upload(partner, 'day/good.csv', `${good}not-a-device,${attribute}\n`);
  await driver.upload(partner, 'day/bad.csv', `x,${attribute}\n${'y'.repeat(300)}\n`);
  const body = { file_path: 'day/', key_type: 0, compressed: false };
  const report = await dryRun(call, IMPORT, body);
  expect(report).toMatchObject({ status: 3, complete: true, files: 2, files_read: 2, errors: null });
  expect(report.file.map(({ failure, rows_rejected }) => [failure?.code, rows_rejected])).toEqual([
    ['too_many_invalid', { bad_identifier: 2 }],
    [undefined, { bad_identifier: 1 }],
  ]);
  expect(report.file[0]!.examples).toMatchObject([
    { line: 1, code: 'bad_identifier', raw: `x,${attribute}` },
    { line: 2, truncated: true },
  ]);
  expect(report.file[1]!.examples).toMatchObject([{ line: 201, raw: `not-a-device,${attribute}` }]);
  // Nothing has been queued.
  expect((await call('GET', IMPORT)).json).toEqual([]);

  const { import_log_id } = (await call('POST', IMPORT, { body })).json;
  await driver.ended(import_log_id);
  const files = (await call('GET', `${IMPORT}/${import_log_id}/files`)).json as Record<string, unknown>[];
  const counts = ({ s3_path, rows, rows_accepted, rows_rejected, failure }: Record<string, unknown>) => ({
    s3_path,
    rows,
    rows_accepted,
    rows_rejected,
    failure,
  });
  expect(report.file.map(counts)).toEqual(files.map(counts));
});

test('keys of the other type: said by dry run and load alike, and only if they are the partner’s', async ({
  service,
  driver,
}) => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner, 'colour:red');
  const call = await callerOf(service, driver, partner);
  await driver.upload(partner, 'foreign.csv', file(ids(9), 'colour:red'));
  await driver.upload(partner, 'ids.csv', file(ids(9), `"${attribute}"`));
  await driver.upload(partner, 'nobody.csv', file(ids(9), 'colour:blue'));
  for (const [file_path, key_type, said] of [
    ['foreign.csv', 0, /These are your foreign keys: use key_type 1 \(--foreign-keys\)\.$/],
    ['ids.csv', 1, /These are attribute ids: use key_type 0/],
    ['nobody.csv', 0, /See the rejected rows\.$/],
  ] as const) {
    const body = { file_path, key_type };
    const [dry] = (await dryRun(call, IMPORT, body)).file;
    expect(dry!.failure!.message).toMatch(said);
    const { import_log_id } = (await call('POST', IMPORT, { body })).json;
    const { errors } = await driver.ended(import_log_id);
    expect(errors).toMatchObject([{ code: 'too_many_invalid', message: dry!.failure!.message }]);
  }
});

test('of an audience, compressed, and of what is not there', async ({ service, driver }) => {
  const partner = await driver.partner();
  const call = await callerOf(service, driver, partner);
  await driver.upload(partner, 'visitors.csv.gz', gzipSync(file(ids(50), 'seen')));
  await driver.upload(partner, 'three.csv', `${ids(1)[0]},a,b\n`);
  const load = (file_path: string) => dryRun(call, AUDIENCE, { name: 'n', file_path });
  expect(await load('visitors.csv.gz')).toMatchObject({ status: 2, rows_accepted: 50, complete: true });
  expect(await load('three.csv')).toMatchObject({ status: 3, file: [{ failure: { code: 'column_count' } }] });
  expect(await load('nothing/')).toMatchObject({ status: 3, files: 0, errors: [{ code: 'no_files' }] });
  expect((await call('GET', AUDIENCE)).json).toEqual([]);
});

test('ends at its limit and says so', async ({ service, driver }) => {
  const partner = await driver.partner();
  const call = await callerOf(service, driver, partner);
  for (const name of ['1', '2']) await driver.upload(partner, `large/${name}.csv`, bigFile(60_000, 'seen'));
  const report = await dryRun(call, AUDIENCE, { name: 'n', file_path: 'large/' });
  expect(report).toMatchObject({ status: 2, complete: false, files: 2, files_read: 1 });
  expect(report.file[0]).toMatchObject({ complete: false, failure: null });
  expect(report.total_rows).toBeGreaterThan(1_000);
  expect(report.total_rows).toBeLessThan(60_000);
});

test('whose runner died is run by another; the third time it ends', async ({ service, driver }) => {
  const partner = await driver.partner();
  const call = await callerOf(service, driver, partner);
  await driver.upload(partner, 'a.csv', file(ids(5), 'seen'));
  const first = await dryRun(call, AUDIENCE, { name: 'n', file_path: 'a.csv' });
  const dryRuns = driver.db.collection<DryRunDocument>(collections.dryRuns);
  const abandon = async (tries: number) => {
    const left = {
      status: 1 as const,
      runner: 'gone',
      leasedUntil: new Date(0),
      tries,
      files: [],
      fileCount: 0,
    };
    await dryRuns.updateOne({ _id: first.dry_run_id }, { $set: left });
    const ended = () => dryRuns.findOne({ _id: first.dry_run_id, status: { $gte: 2 } });
    return waitFor(ended, { what: 'the end of the dry run' });
  };
  expect(await abandon(1)).toMatchObject({ status: 2, files: [{ accepted: 5 }] });
  expect(await abandon(3)).toMatchObject({ status: 3, errors: [{ code: 'internal_error' }] });
});

test('is its partner’s alone, and has no secret left in it', async ({ service, driver }) => {
  const [partner, other] = [await driver.partner(), await driver.partner()];
  const call = await callerOf(service, driver, partner);
  const theirs = await callerOf(service, driver, other);
  const credentials = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'wrong', region: 'eu-west-1' };
  const body = { file_path: 's3://their-bucket/a.csv', key_type: 0, path_type: 1, credentials };
  const ended = await dryRun(call, IMPORT, body);
  expect(ended.status).toBe(3);
  const stored = await driver.db
    .collection<DryRunDocument>(collections.dryRuns)
    .findOne({ _id: ended.dry_run_id });
  expect(stored!.job.credentials).toBeUndefined();
  for (const path of [`${IMPORT}/dry-runs/${ended.dry_run_id}`, `${IMPORT}/dry-runs/999999`])
    expect((await theirs('GET', path)).status).toBe(404);
  expect((await call('GET', `${AUDIENCE}/dry-runs/${ended.dry_run_id}`)).status).toBe(404);
  expect((await call('POST', `${IMPORT}?dry_run=yes`, { body })).status).toBe(422);
});
