/** `headrace tap` as a user and as a script run it, on the real stack. */
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { expect } from 'vitest';
import type { Described } from '../../deploy/cli/operator/describe-message.ts';
import { encode } from '../../pipeline/wire/codec.ts';
import { withService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { startHeadrace } from '../support/run-headrace.ts';
import { runHere } from '../support/run-here.ts';
import { waitFor } from '../support/wait-for.ts';

const base = withService({ parts: ['pipeline'] });

interface Loaded {
  partner: string;
  job: number;
  attribute: number;
  devices: string[];
  rows: string[];
}

/** Imports of two partners; the tests inspect the second. */
const test = base.extend<{ loaded: Loaded }>({
  loaded: [
    async ({ driver }, use) => {
      const other = await driver.partner();
      await driver.upload(other, 'a.csv', file(ids(50), await driver.attribute(other)));
      await driver.ended(await driver.import(other, 'a.csv'));
      const partner = await driver.partner();
      const attribute = await driver.attribute(partner);
      const devices = ids(200);
      const text = `${file(devices, attribute)}junk,${attribute}\n`;
      await driver.upload(partner, 'b.csv', text);
      const job = await driver.import(partner, 'b.csv');
      await driver.ended(job);
      // Its last status follows its end.
      await waitFor(() => driver.jobs.findOne({ _id: job, statusUnpublished: { $exists: false } }), {
        what: 'its last status to be published',
      });
      await use({ partner: partner._id, job, attribute, devices, rows: text.trimEnd().split('\n') });
    },
    { scope: 'file' },
  ],
});

const all = ['jobs', 'files', 'rows', 'devices', 'rejects', 'status'];
const linesOf = (stdout: string) => stdout.split('\n').filter((line) => line !== '');

async function tap(env: Record<string, string>, ...args: string[]): Promise<Described[]> {
  const outcome = await runHere(['tap', ...args], env);
  expect(outcome.code, outcome.stderr).toBe(0);
  return linesOf(outcome.stdout).map((line) => JSON.parse(line));
}

test('a line of JSON a message; several topics in the order of their times', async ({ service, loaded }) => {
  const messages = await tap(service.env, ...all);
  expect(new Set(messages.map(({ topic }) => topic))).toEqual(new Set(all));
  const times = messages.map(({ at }) => at);
  expect(times).toEqual([...times].sort());
  expect(messages.filter(({ topic }) => topic === 'jobs')).toMatchObject([
    { type: 'AcceptedJob', value: { job: 1 } },
    { type: 'AcceptedJob', value: { job: loaded.job, partner: loaded.partner } },
  ]);
  const batch = messages.find(({ topic, value }) => topic === 'rows' && value!.job === loaded.job)!;
  expect(batch.value!.rows).toMatch(/^\d+ bytes$/);
});

test('only a job, a partner, a type, so many', async ({ service, loaded }) => {
  const { job, partner } = loaded;
  const ofJob = await tap(service.env, ...all, '--job', String(job));
  expect(ofJob.every(({ value }) => value!.job === job)).toBe(true);
  expect(new Set(ofJob.map(({ topic }) => topic))).toEqual(new Set(all));
  // Devices, markers and rejects do not contain their partner.
  expect(await tap(service.env, ...all, '--partner', partner)).toEqual(ofJob);
  const markers = await tap(service.env, 'devices', '--type', 'jobmarker', '--job', String(job));
  expect(new Set(markers.map(({ type }) => type))).toEqual(new Set(['JobMarker']));
  expect(await tap(service.env, ...all, '--job', String(job), '--limit', '3')).toEqual(ofJob.slice(0, 3));
});

test('identifiers in their canonical form, and rows as they stand in the file', async ({
  service,
  loaded,
}) => {
  const { job, attribute, devices, rows } = loaded;
  const types = ['--type', 'ValidatedDevices', '--type', 'RowBatch', '--job', String(job)];
  const shown = await tap(service.env, 'rows', 'devices', ...types, '--devices', '--rows');
  const groups = shown.flatMap(({ value }) => (value!.groups ?? []) as { key: string; devices: string[] }[]);
  expect(new Set(groups.map(({ key }) => key))).toEqual(new Set([String(attribute)]));
  expect(new Set(groups.flatMap((group) => group.devices))).toEqual(
    new Set(devices.map((device) => device.toLowerCase())),
  );
  // A file that was redelivered is split again.
  const batches = new Map(shown.map((message) => [`${message.topic} ${message.key}`, message])).values();
  expect([...batches].flatMap(({ value }) => (value!.rows ?? []) as string[])).toEqual(rows);
});

test('begins and ends at an offset, at a time, and so long ago', async ({ service, loaded }) => {
  const [first, second] = await tap(service.env, 'jobs');
  expect(await tap(service.env, 'jobs', '--from', '1')).toEqual([second]);
  expect(await tap(service.env, 'jobs', '--until', '1')).toEqual([first]);
  expect(await tap(service.env, 'jobs', '--from', second!.at)).toEqual([second]);
  expect(await tap(service.env, 'jobs', '--until', second!.at)).toEqual([first]);
  expect(await tap(service.env, 'jobs', '--from', '-10d', '--until', 'end')).toEqual([first, second]);
  expect(await tap(service.env, 'jobs', '--from', String(loaded.job + 1000))).toEqual([]);
});

test('CSV with a header, for a spreadsheet', async ({ service, loaded }) => {
  const { stdout } = await runHere(['tap', 'rejects', 'jobs', '--format', 'csv'], service.env);
  const records = parse(stdout, { columns: true }) as Record<string, string>[];
  const reject = records.find(({ topic }) => topic === 'rejects')!;
  expect(reject).toMatchObject({ type: 'RejectedRows', job: String(loaded.job) });
  expect(JSON.parse(reject.value!)).toMatchObject({ rows: [{ code: 'bad_identifier' }] });
});

test('for a person: one line a message, its devices and rows below', async ({ service, loaded }) => {
  const args = ['tap', 'rows', 'rejects', '--job', String(loaded.job), '--format', 'pretty', '--rows'];
  const { stdout } = await runHere(args, service.env);
  const lines = linesOf(stdout);
  expect(lines[0]).toMatch(
    new RegExp(`rows/\\d+@\\d+ {2}RowBatch {2}job=${loaded.job} {2}file=0 {2}batch=0`),
  );
  expect(lines[1]).toBe(`      ${loaded.rows[0]}`);
  expect(lines.at(-1)).toBe(`      line 201  bad_identifier  junk,${loaded.attribute}`);
});

test('--follow shows what comes, and a Ctrl-C ends it with 130', async ({ service, driver, loaded }) => {
  const following = startHeadrace(['tap', 'jobs', '--follow'], service.env);
  await waitFor(() => linesOf(following.stdout()).length === 2, { what: 'what is there' });
  const partner = (await driver.stores.partners.find(loaded.partner))!;
  const job = await driver.import(partner, 'nothing.csv');
  await waitFor(() => following.stdout().includes(`"job":${job},`), { what: 'the new job' });
  following.child.kill('SIGINT');
  expect(await following.outcome).toMatchObject({ code: 130, stderr: '' });
});

test('a reader that goes away ends it silently', async ({ service, driver, loaded }) => {
  const following = startHeadrace(['tap', 'status', '--follow'], service.env);
  await waitFor(() => following.stdout() !== '', { what: 'the first messages' });
  following.child.stdout!.destroy();
  const partner = (await driver.stores.partners.find(loaded.partner))!;
  await driver.ended(await driver.import(partner, 'nothing.csv'));
  expect(await following.outcome).toMatchObject({ code: 0, stderr: '' });
});

test('garbage is shown as what it is', async ({ service, driver }) => {
  await driver.publisher.send('rejects', [
    { partition: 0, key: 'garbage', value: Buffer.from('garbage') },
    { partition: 0, key: 'strange', value: encode('DeadLetter', letter) },
  ]);
  const shown = await tap(service.env, 'rejects');
  expect(shown.filter(({ error }) => error).map(({ key, error }) => [key, error])).toEqual([
    ['garbage', 'no wire-format header'],
    ['strange', 'schema id 8 does not belong here'],
  ]);
});

const letter = { topic: 't', partition: 0, offset: '0', error: '', key: null, value: Buffer.alloc(0), at: 0 };

/** The process's peak memory so far. */
const peakOf = (pid: number) => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]) * 1_024;
};
const cpuOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ').slice(13, 15).join();

test('whoever reads slowly does not make it grow', async ({ service, driver }) => {
  const rows = Buffer.alloc(700_000, 'x');
  const batch = {
    job: 999_999,
    file: 0,
    last: false,
    partner: 'p',
    layout: 'attributes',
    path: 'x',
  } as const;
  const place = { start: 0, end: 0, first_line: 1, lines: 1, delimiter: 44, failure: null, attempt: 0 };
  const numbers = Array.from({ length: 300 }, (_, n) => n);
  await Promise.all(
    numbers.map((n) => {
      const value = encode('RowBatch', { ...batch, ...place, batch: n, rows });
      return driver.publisher.send('rows', [{ partition: n % 4, key: `999999.0.${n}`, value }]);
    }),
  );
  const tapping = startHeadrace(['tap', 'rows', '--job', '999999', '--rows'], service.env);
  await waitFor(() => tapping.stdout() !== '', { what: 'the first rows' });
  const { stdout, pid } = tapping.child;
  stdout!.pause();
  let [before, same] = ['', 0];
  const isIdle = () => {
    const now = cpuOf(pid!);
    same = now === before ? same + 1 : 0;
    before = now;
    return same >= 20;
  };
  await waitFor(isIdle, { what: 'it to wait for its reader' });
  expect(peakOf(pid!)).toBeLessThan(numbers.length * rows.length);
  tapping.child.kill('SIGINT');
  stdout!.resume();
  expect((await tapping.outcome).code).toBe(130);
});
