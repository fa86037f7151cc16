/** Privacy requests by a partner over REST and by an operator with the command. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import { fileReport, importLog } from '../../schemas/http-answers.ts';
import { privacyRequest, privacyRequestDetails } from '../../schemas/http-privacy.ts';
import { createCaller, IMPORT } from '../api/support.ts';
import type { Driver } from '../support/driver.ts';
import { withSharedService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { lastJsonLine, runHeadrace } from '../support/run-headrace.ts';
import { findInDatabase } from '../support/scan-database.ts';
import type { Service } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const REQUESTS = '/v1/privacy/requests';
const test = withSharedService();

async function partnerOf(driver: Driver, service: Service, scopes?: ('read' | 'privacy')[]) {
  const partner = await driver.partner();
  const { apiKeys } = driver.stores;
  const { key } = await apiKeys.create(
    service.config.secret,
    partner._id,
    undefined,
    scopes ? { scopes } : {},
  );
  const call = createCaller(service.apiUrl, key);
  const get = async (id: number) =>
    privacyRequestDetails.parse((await call('GET', `${REQUESTS}/${id}`)).json);
  const ended = async (id: number) => {
    await waitFor(async () => (await get(id)).status >= 2, { what: `the end of request ${id}` });
    return get(id);
  };
  return { partner, call, get, ended };
}

test('a partner deletes, asks what is stored, and restores', async ({ service, driver }) => {
  const { partner, call, ended } = await partnerOf(driver, service);
  const devices = ids(30);
  const attribute = await driver.attribute(partner);
  await driver.upload(partner, 'a.csv', file(devices, attribute));
  await driver.upload(partner, 'b.csv', file(devices.slice(0, 20), 'visit'));
  const first = await driver.import(partner, 'a.csv');
  const audience = await driver.createAudience(partner, 'b.csv');
  // This import adds a device, the next one none; imports that wait at the same time would be merged together.
  await driver.ended(audience);
  await driver.upload(partner, 'c.csv', file(ids(1), attribute));
  const second = await driver.import(partner, 'c.csv');
  await driver.ended(second);
  await driver.import(partner, 'a.csv');

  // Identifiers in any form, and a repeated request with the same key.
  const identifiers = [devices[0]!.toUpperCase(), devices[25]!.replaceAll('-', ''), ids(1)[0]!];
  const headers = { 'Idempotency-Key': 'access-1' };
  const asked = await call('POST', REQUESTS, { body: { type: 'access', identifiers }, headers });
  expect(asked.status).toBe(202);
  const again = await call('POST', REQUESTS, { body: { type: 'access', identifiers }, headers });
  expect(again.json).toEqual(asked.json);
  expect(asked.headers.get('location')).toContain(`${REQUESTS}/${asked.json.request_id}`);
  const access = await ended(asked.json.request_id);
  expect(access).toMatchObject({ type: 'access', status: 2, identifiers: 3, found: 2 });
  const createdAt = async (job: number) => ({
    created_at: (await driver.ended(job)).createdAt.toISOString(),
  });
  const imports = await Promise.all(
    [first, second].map(async (id) => ({ import_log_id: id, ...(await createdAt(id)) })),
  );
  const load = { load_id: audience, ...(await createdAt(audience)) };
  const attributes = [
    { attribute_id: attribute, name: 'attribute', first_addition: imports[0], last_addition: imports[1] },
  ];
  const audiences = [
    { audience_id: audience, name: 'audience', events: ['visit'], first_addition: load, last_addition: load },
  ];
  expect(access.devices?.toSorted((a, b) => b.audiences.length - a.audiences.length)).toEqual([
    { identifier: devices[0], attributes, audiences },
    { identifier: devices[25], attributes, audiences: [] },
  ]);

  const gone = devices.slice(0, 10);
  await driver.upload(partner, 'gone.csv', `maid\n${gone.map((id) => `${id}\n`).join('')}`);
  const deletion = await call('POST', REQUESTS, { body: { type: 'delete', file_path: 'gone.csv' } });
  expect(await ended(deletion.json.request_id)).toMatchObject({
    type: 'delete',
    file_path: 'gone.csv',
    identifiers: 10,
    found: 10,
    devices: null,
  });
  const imported = await call('POST', IMPORT, { body: { file_path: 'a.csv', key_type: 0 } });
  await driver.ended(imported.json.import_log_id);
  const log = await call('GET', `${IMPORT}/${imported.json.import_log_id}`);
  expect(importLog.parse(log.json)).toMatchObject({ status: 2, unique_devices: '20', suppressed: 10 });
  const files = await call('GET', `${IMPORT}/${imported.json.import_log_id}/files`);
  expect(z.array(fileReport).parse(files.json)).toMatchObject([{ rows_accepted: 30, suppressed: 10 }]);
  expect(await findInDatabase(driver.db, gone)).toEqual([]);

  const restore = await call('POST', REQUESTS, { body: { type: 'restore', identifiers: gone } });
  expect(await ended(restore.json.request_id)).toMatchObject({ type: 'restore', found: 10 });
  const listed = z.array(privacyRequest).parse((await call('GET', REQUESTS)).json);
  expect(listed.map(({ type }) => type)).toEqual(['restore', 'delete', 'access']);
  // They are not listed as imports, and only their partner sees them.
  expect((await call('GET', IMPORT)).json).toHaveLength(4);
  expect((await call('GET', `${IMPORT}/${restore.json.request_id}`)).status).toBe(404);
  const other = await partnerOf(driver, service);
  expect((await other.call('GET', `${REQUESTS}/${restore.json.request_id}`)).status).toBe(404);
});

test('what is wrong with a request is said without naming a device', async ({ service, driver }) => {
  const { call } = await partnerOf(driver, service);
  const [device] = ids(1) as [string];
  const refused = async (body: object) => {
    const reply = await call('POST', REQUESTS, { body });
    expect(reply.text).not.toContain(device);
    return [reply.status, (reply.json.errors ?? []).map(({ path }: { path: string }) => path)];
  };
  const cut = device.slice(0, -1);
  expect(await refused({ type: 'delete', identifiers: [device, `${device}x`] })).toEqual([
    422,
    ['identifiers.1'],
  ]);
  expect(await refused({ type: 'delete', identifiers: [cut] })).toEqual([422, ['identifiers.0']]);
  expect(await refused({ type: 'delete', identifiers: [] })).toEqual([422, ['identifiers']]);
  expect(await refused({ type: 'erase', identifiers: [device] })).toEqual([422, ['type']]);
  expect(await refused({ type: 'delete' })).toEqual([422, ['identifiers']]);
  expect(await refused({ type: 'delete', identifiers: [device], file_path: 'a.csv' })).toEqual([
    422,
    ['identifiers'],
  ]);
  const reader = await partnerOf(driver, service, ['read']);
  const body = { type: 'delete', identifiers: [device] };
  expect((await reader.call('POST', REQUESTS, { body })).json.code).toBe('insufficient_scope');
  expect((await reader.call('GET', REQUESTS)).status).toBe(403);
});

test('an operator deletes the data of all, and neither log nor audit names a device', async ({
  service,
  driver,
}) => {
  const partners = [await driver.partner(), await driver.partner()];
  const devices = ids(40);
  const gone = devices.slice(0, 15);
  const attributes: number[] = [];
  for (const partner of partners) {
    const attribute = await driver.attribute(partner);
    attributes.push(attribute);
    await driver.upload(partner, 'a.csv', file(devices, attribute));
    await driver.ended(await driver.import(partner, 'a.csv'));
  }
  const list = join(temporaryFolder(), 'list.txt');
  writeFileSync(list, gone.join('\n'));
  const admin = async <T>(...args: string[]): Promise<T> =>
    lastJsonLine<T>(await runHeadrace(['admin', 'privacy', ...args, '--json'], service.env));
  const { request_id } = await admin<{ request_id: number }>(
    ...['request', list, '--type', 'delete', '--reason', 'case 7', '--yes'],
  );
  await driver.ended(request_id);
  expect(await admin('show', String(request_id))).toMatchObject({
    type: 'delete',
    partner_id: null,
    status: 2,
    identifiers: 15,
    found: 15,
  });
  expect(await admin<unknown[]>('list')).toContainEqual(expect.objectContaining({ request_id }));
  for (const attribute of attributes) expect((await driver.members(`attribute:${attribute}`)).size).toBe(25);
  expect(await findInDatabase(driver.db, gone)).toEqual([]);
  writeFileSync(list, `${gone[0]}\n${gone[1]}x\n`);
  const refused = await runHeadrace(
    ['admin', 'privacy', 'request', list, '--type', 'delete', '--yes'],
    service.env,
  );
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('line 2');
  expect(refused.stderr + refused.stdout).not.toContain(gone[1]!);
});
