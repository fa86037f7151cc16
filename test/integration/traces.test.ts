/**
 * A collector receives the trace of a job, from the request through its messages to its end. Spans, logs, errors and the audit log
 * name no device.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { identifiersIn } from '../../pipeline/formats/find-identifiers.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { AUDIENCE, createCaller, IMPORT } from '../api/support.ts';
import { type FaultyProxy, startFaultyProxy } from '../sources/faulty-proxy.ts';
import { createDriver, type Driver } from '../support/driver.ts';
import { file, ids } from '../support/rows.ts';
import { runAdmin } from '../support/run-admin.ts';
import { type OwnService, servers, startService } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';

interface Received {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
}
const received: Received[] = [];
let exported = '';
let storage: FaultyProxy;
let collector: Server;
let service: OwnService;
let driver: Driver;

beforeAll(async () => {
  collector = createServer(async (request, response) => {
    const text = await textOf(request).catch(() => undefined);
    // The exporter gave up.
    if (text === undefined) return;
    exported += text;
    const { resourceSpans } = JSON.parse(text);
    for (const { scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans) received.push(...(spans as Received[]));
    response.writeHead(request.url === '/v1/traces' ? 200 : 404).end('{}');
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  storage = await startFaultyProxy(servers().s3.endpoint);
  service = await startService({
    env: {
      HEADRACE_OTLP_URL: `http://127.0.0.1:${port}`,
      HEADRACE_LOG_LEVEL: 'debug',
      HEADRACE_S3_ENDPOINT: storage.endpoint,
    },
  });
  driver = await createDriver(service.config);
});
afterAll(async () => {
  await driver?.close();
  await service?.stop();
  collector?.close();
  await storage?.close();
});

const caller = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };

/** The job of an import whose request carries this trace. */
async function importTraced(flags: string): Promise<JobDocument> {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const { key } = await driver.stores.apiKeys.create(service.config.secret, partner._id);
  await driver.upload(partner, 'traced.csv', file(ids(500), attribute));
  const body = { file_path: 'traced.csv', path_type: 0, key_type: 0 };
  const headers = { traceparent: `00-${caller.traceId}-${caller.spanId}-${flags}` };
  const call = createCaller(service.apiUrl, key);
  expect((await call('POST', IMPORT, { body, headers })).status).toBe(202);
  const job = await driver.jobs.findOne({ partner: partner._id });
  return driver.ended(job!._id);
}

test('every span of a job is below the request that it came with', async () => {
  await importTraced('01');
  const wanted = [`POST ${IMPORT}`, 'job import', 'waiting', 'loading', 'merging', 'split', 'validate'];
  const ours = () => received.filter(({ traceId }) => traceId === caller.traceId);
  const all = () => wanted.every((name) => ours().some((span) => span.name === name));
  await waitFor(all, { what: 'all spans of the job' }).catch((error: Error) => {
    throw new Error(`${error.message}: ${ours().map(({ name }) => name)}`);
  });
  const byId = new Map(ours().map((span) => [span.spanId, span]));
  const ancestors = (span: Received): string[] => {
    const parent = byId.get(span.parentSpanId ?? '');
    return parent ? [parent.name, ...ancestors(parent)] : [span.parentSpanId ?? ''];
  };
  const named = (name: string) => ours().find((span) => span.name === name)!;
  const request = [`POST ${IMPORT}`, caller.spanId];
  expect(ancestors(named(`POST ${IMPORT}`))).toEqual([caller.spanId]);
  expect(ancestors(named('job import'))).toEqual(request);
  for (const phase of ['waiting', 'loading', 'merging', 'split'])
    expect(ancestors(named(phase)), phase).toEqual(['job import', ...request]);
  expect(ancestors(named('validate'))).toEqual(['split', 'job import', ...request]);
  for (const { startTimeUnixNano, endTimeUnixNano } of ours())
    expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano));
});

test('a request that its caller does not trace is not traced', async () => {
  expect((await importTraced('00')).traceparent).toBeUndefined();
});

test('neither logs nor traces, problems, reasons of failures or the audit log name a device', async () => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const { key } = await driver.stores.apiKeys.create(service.config.secret, partner._id);
  const caller = createCaller(service.apiUrl, key);
  const devices = ids(30);
  const [device, another] = devices as [string, string];
  const forms = [device, device.toUpperCase(), device.replaceAll('-', '')];
  const said: string[] = [];
  let requests = 0;
  /** Sends a request with its own trace, and keeps the text of a refusal. */
  const call = async (method: string, path: string, options: Parameters<typeof caller>[2] = {}) => {
    const traceparent = `00-${(0xa0000 + requests++).toString(16).padStart(32, 'c')}-${'d'.repeat(16)}-01`;
    const reply = await caller(method, path, { ...options, headers: { traceparent, ...options.headers } });
    if (reply.status >= 400) said.push(reply.text);
    return reply;
  };
  const jobs: number[] = [];
  const queue = async (path: string, body: object) => {
    const { status, json } = await call('POST', path, { body });
    expect([path, status]).toEqual([path, path === AUDIENCE ? 201 : 202]);
    if (!path.includes('dry_run')) jobs.push(json.request_id ?? json.import_log_id ?? json.audience_id);
  };

  // Valid and invalid rows; files that fail; paths that contain a device.
  const bad = [
    `${device}x,${attribute}`,
    `"${device},${attribute}`,
    `${device},none`,
    `${another},${device}`,
  ];
  const valid = file(devices, attribute);
  const files = {
    'mixed.csv': valid.repeat(5) + bad.join('\n'),
    'bad.csv': bad.join('\n'),
    'columns.csv': `${device},a,b\n`,
    'events.csv': file(devices, device),
    [`people/${device}.csv`]: valid,
    [`${another}.gz`]: valid,
    'list.csv': devices.join('\n'),
  };
  for (const [path, text] of Object.entries(files)) await driver.upload(partner, path, text);
  await driver.upload(partner, `list-of-${device}.csv`, devices.join('\n'));
  // Its next responses are lost, and one file's requests are refused.
  storage.faults.push({ kind: 'reset' }, { kind: 'status', status: 503, code: 'SlowDown' });
  storage.rules.add(({ method, path }) =>
    method === 'GET' && path.includes('list-of-')
      ? { kind: 'status', status: 403, code: 'AccessDenied' }
      : undefined,
  );
  for (const file_path of [...Object.keys(files), `nowhere/${device}`]) {
    await queue(IMPORT, { file_path, key_type: 0, compressed: file_path.endsWith('gz') });
    await queue(AUDIENCE, { name: device, file_path });
    await queue(`${IMPORT}?dry_run=true`, { file_path, key_type: 0, compressed: false });
  }
  const requestsPath = '/v1/privacy/requests';
  for (const type of ['access', 'delete', 'restore']) {
    await queue(requestsPath, { type, identifiers: forms });
    for (const file_path of ['list.csv', `list-of-${device}.csv`, `nowhere/${device}`])
      await queue(requestsPath, { type, file_path });
  }

  // Refused requests.
  for (const form of forms) {
    const refused: [string, string, Parameters<typeof caller>[2]?][] = [
      [
        'POST',
        requestsPath,
        { body: { type: 'delete', identifiers: [`${form}x`, form.slice(1), { [form]: 1 }] } },
      ],
      ['POST', requestsPath, { body: { type: form, identifiers: form, [form]: form } }],
      ['POST', requestsPath, { raw: `{"type": "delete", "identifiers": ["${form}` }],
      ['POST', requestsPath, { raw: form }],
      ['POST', requestsPath, { body: { type: 'delete', file_path: `/${form}` } }],
      ['POST', requestsPath, { body: { type: 'delete', file_path: `${partner.prefix}${form}` } }],
      ['POST', `${requestsPath}?${form}=${form}`, { body: { type: 'access', identifiers: [form] } }],
      ['POST', `/v1/privacy/${form}`, { body: {} }],
      ['GET', `${requestsPath}/${form}`],
      ['GET', `${requestsPath}?cursor=${form}&${form}`],
      ['GET', `${AUDIENCE}/${form}`],
      ['GET', `/console/${form}`],
      ['DELETE', IMPORT, { body: { key_type: 1, keys: [form] } }],
      ['POST', IMPORT, { body: { file_path: `s3://${form}`, key_type: 0, [form]: 1 } }],
    ];
    for (const [method, path, options] of refused) {
      const { status } = await call(method, path, options);
      expect([path, Math.floor(status / 100)]).toEqual([path, 4]);
    }
  }
  const list = join(temporaryFolder(), 'list.txt');
  const admin = (...args: string[]) => runAdmin(args, service.env);
  const request = ['privacy', 'request', list, '--type', 'delete', '--yes', '--reason', `about ${forms[1]}`];
  writeFileSync(list, `${device}\n`);
  await admin(...request);
  writeFileSync(list, `${device}x\n`);
  said.push((await admin(...request)).stderr);
  await admin('attribute', 'create', '--partner', partner._id, '--name', device);
  await admin('attribute', 'create', '--partner', device, '--name', 'x');

  const ended = await Promise.all(jobs.map((job) => driver.ended(job)));
  await waitFor(() => exported.includes('job privacy'), { what: 'the traces of requests' });
  const codes = ended.flatMap(({ errors }) => (errors ?? []).map(({ code }) => code));
  expect(codes).toEqual(
    expect.arrayContaining(['no_files', 'bad_gzip', 'column_count', 'too_many_invalid', 'access_denied']),
  );
  const dryRuns = driver.db.collection('dry_runs');
  await waitFor(async () => !(await dryRuns.findOne({ status: { $lt: 2 } })), {
    what: 'the end of dry runs',
  });
  const logs = `${readFileSync(service.log('api'), 'utf8')}${readFileSync(service.log('pipeline'), 'utf8')}`;
  for (const text of ['file split', 'request', 'dry run ended', 'ended with errors'])
    expect(logs).toContain(`"${text}"`);
  const wanted = new Set(devices.map((one) => one.replaceAll('-', '')));
  const naming = (text: string) =>
    text.split('\n').filter((line) => identifiersIn(line).some((one) => wanted.has(one)));
  expect(naming(`at ${forms[1]}`)).toHaveLength(1);
  const audited = await driver.db.collection('audit').find().toArray();
  expect(audited.length).toBeGreaterThan(3);
  // A partner's own path is shown to the partner.
  const reasons = ended
    .filter(({ filePath }) => identifiersIn(filePath).length === 0)
    .flatMap(({ errors }) => (errors ?? []).map(({ message }) => message));
  expect(naming(logs)).toEqual([]);
  expect(naming(exported)).toEqual([]);
  expect(naming(said.join('\n'))).toEqual([]);
  expect(naming(reasons.join('\n'))).toEqual([]);
  expect(naming(audited.map((entry) => JSON.stringify(entry)).join('\n'))).toEqual([]);
});
