/** A job is followed from the request through the headers of its messages to its end, by what a collector receives. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobDocument } from '../../schemas/documents.ts';
import { createCaller, IMPORT } from '../api/support.ts';
import { createDriver, type Driver } from '../support/driver.ts';
import { file, ids } from '../support/rows.ts';
import { type OwnService, startService } from '../support/stack.ts';
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
let collector: Server;
let service: OwnService;
let driver: Driver;

beforeAll(async () => {
  collector = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString());
    for (const { scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans) received.push(...(spans as Received[]));
    response.writeHead(request.url === '/v1/traces' ? 200 : 404).end('{}');
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  service = await startService({ env: { HEADRACE_OTLP_URL: `http://127.0.0.1:${port}` } });
  driver = await createDriver(service.config);
});
afterAll(async () => {
  await driver?.close();
  await service?.stop();
  collector?.close();
});

const caller = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };

/** The job of an import that is asked for by somebody with this trace. */
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
