/** Progress of jobs on the real service: one waits while the other loads, both finish, and progress never goes back. */
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { progress as progressSchema } from '../../schemas/http-progress.ts';
import { useServiceBehindProxy } from '../support/fixture.ts';
import { startInProcess } from '../support/in-process-api.ts';
import { bigFile, file, ids } from '../support/rows.ts';
import { withoutPorts } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';
import { openEvents } from './event-client.ts';
import { AUDIENCE, type Call, callerOf, createCaller, IMPORT } from './support.ts';

// One job at a time: the second waits until the first has ended. Small batches: each one is a step of the progress.
const settings = {
  HEADRACE_TEST_JOB_WINDOW: '1',
  HEADRACE_TEST_BATCH_BYTES: '20000',
};
const { service, driver, proxy } = await useServiceBehindProxy({ env: settings });
const FILES = 4;
const ROWS = 60_000;

type Progress = z.output<typeof progressSchema>;
const phases = ['waiting', 'listing', 'loading', 'merging', 'done'];

/** Every distinct state until the job has ended. */
async function watch(call: Call, path: string, seen: Progress[] = []): Promise<Progress[]> {
  await waitFor(
    async () => {
      const now = progressSchema.parse((await call('GET', `${path}/progress`)).json);
      if (JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now);
      return now.ended_at;
    },
    { what: `the end of ${path}` },
  );
  return seen;
}

function expectForward(seen: Progress[]): void {
  for (const [i, now] of seen.entries()) {
    const before = seen[i - 1];
    if (!before) continue;
    for (const field of ['rows', 'files_done', 'bytes_done', 'status'] as const)
      expect([field, now[field] >= before[field]]).toEqual([field, true]);
    expect(now.jobs_ahead <= before.jobs_ahead).toBe(true);
    expect(phases.indexOf(now.phase) >= phases.indexOf(before.phase)).toBe(true);
  }
}

it('a small job waits behind a large one that loads', async () => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const { key } = await driver.stores.apiKeys.create(service.config.secret, partner._id);
  const call = createCaller(service.apiUrl, key);
  const events = await openEvents(`${service.apiUrl}${IMPORT}/events`, { authorization: `Bearer ${key}` });
  let bytes = 0;
  for (let i = 0; i < FILES; i++) {
    const content = bigFile(ROWS, attribute);
    bytes += content.length;
    await driver.upload(partner, `large/${i}.csv`, content);
  }
  await driver.upload(partner, 'small.csv', file(ids(100), attribute));
  const post = async (body: object) => (await call('POST', IMPORT, { body })).json.import_log_id as number;
  // The stream starts with minutes of the past; from here on it is up to date.
  const earlier = await post({ file_path: 'small.csv', key_type: 0 });
  await events.until('the end', ({ data }) => data.import_log_id === earlier && data.status === 2);
  // Its last file stalls until every state midway has been seen.
  const stalled = proxy.stall(`${partner.prefix}large/${FILES - 1}.csv`, 0);
  const large = await post({ file_path: 'large/', key_type: 0, compressed: false });
  const small = await post({ file_path: 'small.csv', key_type: 0 });
  const isMidway = ({ phase, rows }: Progress) => phase === 'loading' && rows > 0 && rows < FILES * ROWS;
  const ofLarge: Progress[] = [];
  const watching = Promise.all([
    watch(call, `${IMPORT}/${large}`, ofLarge),
    watch(call, `${IMPORT}/${small}`),
  ]);
  await waitFor(() => ofLarge.some(isMidway), { what: 'progress' });
  await events.until('the load', ({ data }) => data.import_log_id === large && data.status === 1);
  await events.until('who waits', ({ data }) => data.import_log_id === small && data.status === 0);
  stalled.letGo();
  const [, ofSmall] = await watching;

  for (const seen of [ofLarge, ofSmall]) expectForward(seen);
  expect(ofSmall[0]).toMatchObject({ phase: 'waiting', jobs_ahead: 1, files: null, started_at: null });
  expect(ofSmall.at(-1)).toMatchObject({ phase: 'done', jobs_ahead: 0, files: 1, files_done: 1, rows: 100 });
  for (const { rows_per_second, estimated_end_at, started_at, bytes_done } of ofLarge.filter(isMidway)) {
    expect(rows_per_second).toBeGreaterThan(0);
    expect(Date.parse(estimated_end_at!)).toBeGreaterThan(Date.parse(started_at!));
    expect(bytes_done).toBeGreaterThan(0);
  }
  const last = ofLarge.at(-1)!;
  expect(last).toMatchObject({ phase: 'done', files: FILES, files_done: FILES, rows: FILES * ROWS });
  expect([last.bytes, last.bytes_done, last.estimated_end_at]).toEqual([bytes, bytes, null]);
  const times = [last.created_at, last.listing_at!, last.started_at!, last.loaded_at!, last.ended_at!];
  expect(times).toEqual(times.toSorted());

  const statuses = (id: number) =>
    events.events.filter(({ data }) => data.import_log_id === id).map(({ data }) => data.status as number);
  for (const id of [large, small]) {
    await events.until('the end', ({ data }) => data.import_log_id === id && data.status === 2);
    expect(statuses(id)).toEqual(statuses(id).toSorted());
  }
  const rows = events.events
    .filter(({ data }) => data.import_log_id === large)
    .map(({ data }) => Number(data.total_rows));
  expect(rows).toEqual(rows.toSorted((a, b) => a - b));
  await events.close();
});

it('jobs ahead and the estimated end are those of the partner’s lane, whatever others have queued', async () => {
  const SIZE = 10_000;
  async function stalledImport(behind: number) {
    const partner = await driver.partner();
    const attribute = await driver.attribute(partner);
    const { key } = await driver.stores.apiKeys.create(service.config.secret, partner._id);
    const content = bigFile(SIZE, attribute);
    await driver.upload(partner, 'big.csv', content);
    const stalled = proxy.stall(`${partner.prefix}big.csv`, content.length / 2);
    await driver.upload(partner, 'small.csv', file(ids(10), attribute));
    const jobs = [await driver.import(partner, 'big.csv')];
    for (let i = 0; i < behind; i++) jobs.push(await driver.import(partner, 'small.csv'));
    const ask = (at: string) => (id: number) => createCaller(at, key)('GET', `${IMPORT}/${id}/progress`);
    const read = async (at = service.apiUrl) =>
      Promise.all(jobs.map(async (id) => progressSchema.parse((await ask(at)(id)).json)));
    return { jobs, stalled, read };
  }
  const crowded = await stalledImport(3);
  const other = await stalledImport(0);
  const isMidway = ({ phase, rows, estimated_end_at }: Progress) =>
    phase === 'loading' && rows > 0 && rows < SIZE && estimated_end_at !== null;
  await waitFor(async () => (await other.read()).every(isMidway), { what: 'an estimate of its end' });
  const ahead = (jobs: Progress[]) => jobs.map(({ jobs_ahead }) => jobs_ahead);
  expect(ahead(await crowded.read())).toEqual([0, 1, 2, 3]);
  expect(ahead(await other.read())).toEqual([0]);

  const inOneOrder = await startInProcess({ ...withoutPorts(service.env), HEADRACE_ORDER: 'service' });
  expect(ahead(await crowded.read(inOneOrder.apiUrl))).toEqual([0, 1, 2, 3]);
  expect(await other.read(inOneOrder.apiUrl)).toMatchObject([
    { phase: 'loading', jobs_ahead: 4, estimated_end_at: null },
  ]);
  await inOneOrder.stop();

  other.stalled.letGo();
  expect(await driver.ended(other.jobs[0]!)).toMatchObject({ status: 2, rows: SIZE });
  expect(ahead(await crowded.read())).toEqual([0, 1, 2, 3]);
  crowded.stalled.letGo();
  expect(await driver.ended(crowded.jobs.at(-1)!)).toMatchObject({ status: 2, rows: 10 });
});

it('a load has one, its customer sees it, and a clear fails it at once', async () => {
  const partner = await driver.partner();
  const call = await callerOf(service, driver, partner);
  await driver.upload(partner, 'visitors.csv', file(ids(50), 'seen'));
  const id = (await call('POST', AUDIENCE, { body: { name: 'n', file_path: 'visitors.csv' } })).json
    .audience_id;
  const seen = await watch(call, `${AUDIENCE}/${id}/loads/${id}`);
  expectForward(seen);
  expect(seen.at(-1)).toMatchObject({ phase: 'done', rows: 50, files: 1 });
  expect((await call('GET', `/v1/firstparty/audience/${id}/loads/${id}/progress`)).json).toEqual(seen.at(-1));

  // Behind a job that does not end before.
  await driver.upload(partner, 'slow/1.csv', file(ids(10), 'seen'));
  const slow = proxy.stall(`${partner.prefix}slow/1.csv`, 0);
  await driver.createAudience(partner, 'slow/');
  const location = (
    await call('PATCH', `${AUDIENCE}/${id}`, { body: { file_path: 'visitors.csv' } })
  ).headers.get('location')!;
  await call('PUT', `${AUDIENCE}/${id}`);
  expect((await call('GET', `${location}/progress`)).json).toMatchObject({ phase: 'failed', status: 3 });
  slow.letGo();

  const others = await callerOf(service, driver, await driver.partner());
  for (const path of [`${IMPORT}/${id}/progress`, `${AUDIENCE}/${id}/loads/${id}/progress`])
    expect((await others('GET', path)).status).toBe(404);
  for (const path of [
    `${IMPORT}/${id}/progress`,
    `${IMPORT}/987654/progress`,
    `${AUDIENCE}/${id}/loads/x/progress`,
  ])
    expect((await call('GET', path)).status).toBe(404);
});
