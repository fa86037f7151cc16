/** How a partner's command handles jobs that do not end, lost responses, and rate limits. */
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { importLog } from '../../schemas/http-answers.ts';
import { type Api, startApiOnOwnData } from '../api/support.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { type AnsweringProxy, startAnsweringProxy } from './answering-proxy.ts';
import { hasTerminals, startInTerminal } from './in-terminal.ts';
import { createTerminal, provision, type Variables, variablesOf } from './partner.ts';

let api: Api;
let proxy: AnsweringProxy;
let variables: Variables;
const { json, failure, start } = createTerminal(() => variables);

beforeAll(async () => {
  // Without a pipeline no job ends; with a limit of one request per second the rate limit is hit soon.
  api = await startApiOnOwnData({ HEADRACE_RATE_PER_SECOND: '1' });
  const { issued } = await provision(api.service);
  proxy = await startAnsweringProxy(api.service.apiUrl);
  variables = variablesOf(issued, proxy.url);
});
afterAll(async () => {
  await proxy?.close();
  await api?.stop();
});

it('still running after --timeout: 8, its record, and how to follow it again', async () => {
  const error = await failure(8, 'import', 'submit', 'x.csv', '--follow', '--timeout', '3s');
  const { import_log_id, status } = importLog.parse(JSON.parse(error.stdout));
  expect(status).toBe(0);
  expect(error).toMatchObject({
    code: 'still_running',
    message: `job ${import_log_id} is still running; follow it with: headrace import show ${import_log_id} --follow`,
  });
});

it('Ctrl-C while it follows: 130, and that the job goes on', async () => {
  proxy.seen.length = 0;
  const { child, outcome } = start('import', 'submit', 'y.csv', '--follow');
  const isFollowing = () => proxy.seen.some((request) => request.endsWith('/progress'));
  await waitFor(isFollowing, { what: 'the job to be followed' });
  child.kill('SIGINT');
  const { code, stdout, stderr } = await outcome;
  expect([code, stdout]).toEqual([130, '']);
  expect(stderr).toMatch(
    /^headrace: interrupted; job (\d+) continues\. .*: headrace import show \1 --follow\n$/,
  );
});

it('Ctrl-C while it uploads: 130, and that nothing was submitted', async () => {
  let isConnected = false;
  const stalled = createServer(() => {
    isConnected = true;
  });
  await new Promise<void>((resolve) => stalled.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void stalled.close());
  const endpoint = `http://127.0.0.1:${(stalled.address() as AddressInfo).port}`;
  const source = join(temporaryFolder(), 'x.csv');
  writeFileSync(source, 'x,1\n');
  proxy.seen.length = 0;
  const { child, outcome } = start('import', 'submit', '--upload', source, '--storage-endpoint', endpoint);
  await waitFor(() => isConnected, { what: 'the upload' });
  child.kill('SIGINT');
  const { code, stdout, stderr } = await outcome;
  expect([code, stdout, proxy.seen]).toEqual([130, '', []]);
  expect(stderr).toMatch(
    /^headrace: interrupted; nothing was submitted \(0 files uploaded to uploads\/.*\)\n$/,
  );
});

it('an answer that is lost: the request is repeated, and there is one job', async () => {
  const before = await json('import', 'list');
  proxy.seen.length = 0;
  proxy.lose('POST', 2);
  const { import_log_id } = await json('import', 'submit', 'z.csv');
  const posts = proxy.seen.filter((request) => request.startsWith('POST'));
  expect(posts.length).toBeGreaterThanOrEqual(3);
  const after = await json('import', 'list');
  expect(after.length - before.length).toBe(1);
  expect(after[0]).toMatchObject({ import_log_id, file_path: 'z.csv' });
});

it('an answer that begins and does not end: 1', async () => {
  const { import_log_id } = await json('import', 'submit', 'w.csv');
  proxy.breakOff(`/v1/marketplace/import/${import_log_id}/files`);
  const { code, message } = await failure(1, 'import', 'files', String(import_log_id));
  expect([code, message]).toEqual(['unreachable', expect.stringContaining('the response was cut off')]);
});

it('refused for now (429): it waits as long as it is told to, and goes on', async () => {
  const requests = Array.from({ length: 6 }, (_, n) => json('import', 'submit', `many-${n}.csv`));
  const submitted = await Promise.all(requests);
  expect(new Set(submitted.map(({ import_log_id }) => import_log_id)).size).toBe(6);
});

it.runIf(hasTerminals)('at a terminal it shows the progress, and colours unless NO_COLOR', async () => {
  const { import_log_id } = await json('import', 'submit', 'shown.csv');
  const show = ['import', 'show', String(import_log_id), '--follow'];
  const following = startInTerminal(show, variables);
  await following.type('\x03', 'ahead in the queue');
  const ended = await following.end();
  expect([ended.code, ended.screen]).toEqual([130, expect.stringContaining(`job ${import_log_id}`)]);

  const coloured = startInTerminal(['import', 'list'], variables).end();
  expect((await coloured).screen).toContain('\x1b[2mpending\x1b[22m');
  const plain = startInTerminal(['import', 'list'], { ...variables, NO_COLOR: '1' }).end();
  expect((await plain).screen).toMatch(/ {2}pending {2}/);
});
