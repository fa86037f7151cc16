/** Uploads of the console: what a signed URL accepts and what it refuses. */
import { beforeAll, expect, it } from 'vitest';
import { signedUpload } from '../../schemas/http-console.ts';
import { fromConsole, signedIn, type Visitor } from './console-support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);
let visitor: Visitor;
beforeAll(async () => {
  visitor = await signedIn(api, { api_key: partner.key });
});

const ask = (body: object) => visitor.call('POST', '/console/uploads/import', { body, headers: fromConsole });
async function sign(name: string, size: number) {
  const reply = await ask({ name, size });
  expect([reply.status, reply.headers.get('cache-control')]).toEqual([201, 'no-store']);
  return signedUpload.parse(reply.json);
}
/** Returns the status and the error code of a refusal. */
async function put(url: string, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'PUT', body, headers });
  const code = /<Code>(\w+)</.exec(await response.text())?.[1];
  return code === undefined ? [response.status] : [response.status, code];
}

it('a URL takes one file of the announced size, under the prefix of the partner', async () => {
  const { url, file_path, expires_at } = await sign('day 1 (ä)+%.csv', 5);
  expect(file_path).toMatch(/^uploads\/\d{8}T\d{6}Z-[0-9a-f]{16}\/day 1 \(ä\)\+%\.csv$/);
  expect(decodeURIComponent(new URL(url).pathname)).toBe(
    `/${api.config.s3Bucket}/${partner.prefix}${file_path}`,
  );
  expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(900_000);
  expect(await put(url, '123456')).toEqual([403, 'SignatureDoesNotMatch']);
  expect(await put(url, '12345')).toEqual([200]);
});

it('it opens no other object, and only for writing', async () => {
  const { url } = await sign('a.csv', 1);
  const other = await api.partner();
  expect(await put(url.replace(partner.prefix, other.prefix), 'x')).toEqual([403, 'SignatureDoesNotMatch']);
  expect(await put(url.replace('a.csv', 'b.csv'), 'x')).toEqual([403, 'SignatureDoesNotMatch']);
  expect((await fetch(url)).status).toBe(403);
  expect((await fetch(url, { method: 'DELETE' })).status).toBe(403);
});

it('two uploads never share a path', async () => {
  const [one, other] = [await sign('a.csv', 1), await sign('a.csv', 1)];
  expect(one.file_path).not.toBe(other.file_path);
});

it('the storage lets the console upload, and no other site', async () => {
  const { url } = await sign('a.csv', 1);
  const allowed = async (origin: string) => {
    const headers = {
      origin,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'content-type',
    };
    const answer = await fetch(url, { method: 'OPTIONS', headers });
    return answer.headers.get('access-control-allow-origin');
  };
  expect(await allowed(api.service.apiUrl)).toBe(api.service.apiUrl);
  expect(await allowed('https://elsewhere.example')).toBeNull();
});

it.each([
  ['a folder', { name: 'a/b.csv', size: 1 }],
  ['the folder above', { name: '..', size: 1 }],
  ['a control character', { name: 'a\n.csv', size: 1 }],
  ['no name', { name: '', size: 1 }],
  ['a long name', { name: 'a'.repeat(256), size: 1 }],
  ['nothing', { name: 'a.csv', size: 0 }],
  ['more than one request can take', { name: 'a.csv', size: 5 * 1024 ** 3 + 1 }],
  ['a fraction', { name: 'a.csv', size: 1.5 }],
  ['another field', { name: 'a.csv', size: 1, prefix: 'x/' }],
])('%s is refused', async (_, body) => {
  expect((await ask(body)).status).toBe(422);
});
