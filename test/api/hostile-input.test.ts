/** Malicious and malformed input: each gets its own error, and none a 500. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { collections } from '../../schemas/documents.ts';
import { problem } from '../../schemas/http-answers.ts';
import { openRaw, rawRequest } from './raw-socket.ts';
import { AUDIENCE, IMPORT, type Reply } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi();
const partner = usePartner(api);

const post = (raw: string | Uint8Array<ArrayBuffer>, headers = {}) =>
  partner.call('POST', IMPORT, { raw, headers });
const good = { file_path: 'a.csv', key_type: 0 };

function expectProblem(reply: Reply, status: number, code?: string): void {
  expect([reply.status, reply.text]).toEqual([status, expect.any(String)]);
  expect(reply.headers.get('content-type')).toBe('application/problem+json');
  const body = problem.parse(reply.json);
  expect(body.status).toBe(status);
  if (code) expect(body.code).toBe(code);
  expect(reply.text).not.toMatch(/\bat .*\.(ts|js):\d|node_modules|Mongo|Kafka/);
}

/** Sends bytes verbatim; fetch would refuse them. */
async function sendRaw(bytes: string): Promise<string> {
  const connection = await openRaw(api.service.apiUrl);
  connection.send(bytes);
  return connection.closed;
}

describe('bodies', () => {
  it.each([
    ['no JSON', '{"file_path":'],
    ['single quotes', "{'file_path':'a'}"],
    ['a trailing comma', '{"file_path":"a",}'],
    ['NaN', '{"key_type":NaN}'],
    ['bytes that are no text', new Uint8Array([0xff, 0xfe, 0x00])],
    ['only blanks', '   '],
  ])('%s: 400', async (_, raw) => {
    expectProblem(await post(raw), 400, 'bad_json');
  });

  it('no body at all: 400', async () => {
    for (const method of ['POST', 'DELETE'])
      expectProblem(await partner.call(method, IMPORT), 400, 'bad_json');
  });

  it.each(['[]', '"text"', '7', 'true', 'null', '[{"file_path":"a","key_type":0}]'])(
    'JSON that is no object, %s: 422',
    async (raw) => {
      expectProblem(await post(raw), 422, 'invalid_body');
    },
  );

  it.each(['text/plain', 'application/json; charset=utf-16', ''])('media type %j: 415', async (type) => {
    expectProblem(await post(JSON.stringify(good), { 'content-type': type }), 415, 'unsupported_media_type');
  });

  it('application/json with charset=utf-8 is fine', async () => {
    const reply = await post(JSON.stringify(good), { 'content-type': 'application/json; charset=UTF-8' });
    expect(reply.status).toBe(202);
  });

  it('1 MB: 413, whether its length is told or not', async () => {
    const large = JSON.stringify({ ...good, file_path: 'a'.repeat(1_000_000) });
    expectProblem(await post(large), 413, 'body_too_large');
    const chunked = await sendRaw(
      `POST ${IMPORT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${partner.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
        `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`,
    );
    expect(chunked).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('1 MB without any header about it: 415, unread', async () => {
    const answer = await sendRaw(
      `POST ${IMPORT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${partner.key}\r\nTransfer-Encoding: chunked\r\n\r\n` +
        `f4240\r\n${'a'.repeat(1_000_000)}\r\n0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 415 /);
  });

  it('a small gzip that unpacks to 10 MB: 413', async () => {
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(10_000_000, 0x20)));
    expectProblem(await post(bomb, { 'content-encoding': 'gzip' }), 413);
  });

  it.each([
    ['arrays', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['objects', `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`],
    ['in a field', JSON.stringify({ ...good, file_path: JSON.parse(`${'['.repeat(12)}${']'.repeat(12)}`) })],
  ])('deep nesting, %s: 422', async (_, raw) => {
    expectProblem(await post(raw), 422, 'too_deep');
  });

  it.each([
    '{"file_path":"a","key_type":0,"__proto__":{"path_type":1}}',
    '{"file_path":"a","key_type":0,"constructor":{"prototype":{"x":1}}}',
    '{"__proto__":{"file_path":"a","key_type":0}}',
  ])('prototype keys, %s: 422', async (raw) => {
    expectProblem(await post(raw), 422, 'invalid_body');
  });

  it('the last of two equal keys counts, and is checked', async () => {
    expectProblem(await post('{"file_path":"a","key_type":0,"key_type":"0"}'), 422);
  });

  it('bytes that are not UTF-8 in a path: 422', async () => {
    const raw = Buffer.concat([
      Buffer.from('{"key_type":0,"file_path":"a'),
      Buffer.of(0xc3),
      Buffer.from('"}'),
    ]);
    expectProblem(await post(new Uint8Array(raw)), 422);
  });
});

describe('ids in addresses', () => {
  it.each([
    '9007199254740993',
    '99999999999999999999',
    '-1',
    '0',
    '01',
    '1e3',
    '1.0',
    '+1',
    '%201',
    '0x10',
    'NaN',
    '..%2f',
    '..%2f..%2fetc%2fpasswd',
    '%00',
    '1%00',
    '%7B%22$gt%22:%22%22%7D',
    '１',
    '%ff',
    '%zz',
  ])('%s names nothing: 404', async (id) => {
    for (const path of [IMPORT, AUDIENCE]) {
      const reply = await partner.call('GET', `${path}/${id}`);
      expectProblem(reply, 404, 'not_found');
    }
    expectProblem(await partner.call('PUT', `${AUDIENCE}/${id}`), 404, 'not_found');
  });
});

describe('addresses and methods', () => {
  it('an unknown address: 404 as a problem, with and without a key', async () => {
    for (const call of [api.anonymous, partner.call])
      for (const path of [
        '/v3',
        '/v1/marketplace',
        '/V1/marketplace/import',
        '/admin',
        '/v1/marketplace/import/1/2/3',
      ])
        expectProblem(await call('GET', path), 404, 'not_found');
  });

  it('a known address with another method: 405 with Allow', async () => {
    const reply = await partner.call('PUT', IMPORT, { body: {} });
    expectProblem(reply, 405, 'method_not_allowed');
    expect(reply.headers.get('allow')).toBe('DELETE, GET, HEAD, OPTIONS, POST');
    const audience = await partner.call('POST', `${AUDIENCE}/1`, { body: {} });
    expect([audience.status, audience.headers.get('allow')]).toEqual([
      405,
      'DELETE, GET, HEAD, OPTIONS, PATCH, PUT',
    ]);
  });

  it('OPTIONS tells the methods, HEAD is GET without a body', async () => {
    const options = await api.anonymous('OPTIONS', IMPORT);
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'DELETE, GET, HEAD, OPTIONS, POST']);
    const head = await partner.call('HEAD', IMPORT);
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it('a request that is none: 400 as a problem', async () => {
    expect(await sendRaw('GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json[\s\S]*"code":"bad_request"/,
    );
  });

  it('two Host headers: 400, on every address; one is fine', async () => {
    for (const path of ['/health/live', IMPORT, '/nowhere']) {
      const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`;
      expect(await sendRaw(`${head}hOST: b\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"bad_request"/);
      expect(await sendRaw(`${head}\r\n`)).not.toMatch(/^HTTP\/1\.1 400 /);
    }
  });

  it('headers without end: 431 as a problem', async () => {
    expect(await sendRaw(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });
});

describe('a clear without a body', () => {
  it.each([
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 204],
    [
      'in chunks, as JSON',
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      204,
    ],
    ['of length 0', 'Content-Length: 0\r\n\r\n', 204],
    [
      'but an empty object in chunks',
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
      204,
    ],
    ['but text in chunks', 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n', 415],
    [
      'but fields in chunks',
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n0\r\n\r\n',
      422,
    ],
  ])('%s', async (_, rest, status) => {
    const id = await partner.createAudience();
    const head = `PUT ${AUDIENCE}/${id} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${partner.key}\r\n`;
    expect(await sendRaw(head + rest)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it('in chunks that come one by one', async () => {
    const id = await partner.createAudience();
    const connection = await openRaw(api.service.apiUrl);
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
    connection.send(rawRequest('PUT', `${AUDIENCE}/${id}`, partner.key, headers));
    for (const bytes of ['2\r\n{', '}\r\n', '0\r\n', '\r\n']) {
      await new Promise(setImmediate);
      connection.send(bytes);
    }
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 204 /);
  });
});

describe('prefixes', () => {
  it('no partner’s prefix begins with another’s, and each is a folder of its own', async () => {
    for (let i = 0; i < 20; i++) await api.partner();
    const prefixes = (await api.db.collection(collections.partners).find().toArray()).map(
      ({ prefix }) => prefix,
    );
    for (const prefix of prefixes) {
      expect(prefix).toMatch(/^[^/]+\/$/);
      expect(prefixes.filter((each) => each.startsWith(prefix))).toEqual([prefix]);
    }
  });

  it('a path that begins like another partner’s prefix stays under one’s own', async () => {
    const other = await api.partner();
    const path = `${other.prefix}secret.csv`;
    const job = await api.jobs.findOne({ _id: await partner.queueImport(path) });
    expect(job).toMatchObject({ partner: partner.id, filePath: path });
  });
});
