/** What a session of the console may change, and that no other site can make it. */
import { describe, expect, it } from 'vitest';
import { createApiKeyStore } from '../../api/stores/api-keys.ts';
import { collections } from '../../schemas/documents.ts';
import { type KeyScope, keyScopes } from '../../schemas/partner-documents.ts';
import { waitFor } from '../support/wait-for.ts';
import { fromConsole, SESSION, signedIn, tokenOf, type Visitor } from './console-support.ts';
import { openRaw } from './raw-socket.ts';
import { AUDIENCE, IMPORT, startApi } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi(() => startApi({ HEADRACE_WEBHOOK_ALLOW_PRIVATE: '1' }));
const partner = usePartner(api);
const other = usePartner(api);

/** Every kind of change that a session may make: its scope, its request, the status of the response. */
const changes: [KeyScope, string, (audience: number) => string, object, number][] = [
  ['import', 'POST', () => IMPORT, { file_path: 'a', key_type: 0 }, 202],
  ['import', 'POST', () => `${IMPORT}?dry_run=true`, { file_path: 'a', key_type: 0 }, 202],
  ['import', 'POST', () => '/console/uploads/import', { name: 'a.csv', size: 1 }, 201],
  ['import', 'DELETE', () => IMPORT, { key_type: 1, keys: ['colour'] }, 202],
  ['audience', 'POST', () => AUDIENCE, { name: 'n', file_path: 'a' }, 201],
  ['audience', 'POST', () => '/console/uploads/audience', { name: 'a.csv', size: 1 }, 201],
  ['audience', 'PATCH', (id) => `${AUDIENCE}/${id}`, { file_path: 'a' }, 204],
  ['audience', 'PUT', (id) => `${AUDIENCE}/${id}`, {}, 204],
  ['webhook', 'POST', () => '/v1/webhooks', { url: 'http://127.0.0.1:9/hook' }, 201],
  ['privacy', 'POST', () => '/v1/privacy/requests', { type: 'delete', file_path: 'a' }, 202],
];

describe('a session changes', () => {
  const stateOf = async () => [
    await api.jobs.countDocuments({ partner: partner.id }),
    await api.db.collection(collections.dryRuns).countDocuments({ partner: partner.id }),
    await api.db.collection(collections.webhooks).countDocuments({ partner: partner.id }),
    await api.db.collection(collections.audiences).find({ partner: partner.id }).toArray(),
  ];
  const sessionWith = async (scopes?: KeyScope[]) => {
    const { key } = await createApiKeyStore(api.db).create(api.config.secret, partner.id, 'k', { scopes });
    return signedIn(api, { api_key: key });
  };

  it('what its API key may change', async () => {
    await api.attribute(partner, 'colour');
    const id = await partner.createAudience();
    for (const [scope, method, path, body, status] of changes) {
      const visitor = await sessionWith(['read', scope]);
      expect((await visitor.call('GET', SESSION)).json.scopes).toEqual(['read', scope]);
      const reply = await visitor.call(method, path(id), { body, headers: fromConsole });
      expect([method, path(id), reply.status, reply.text]).toEqual([
        method,
        path(id),
        status,
        expect.any(String),
      ]);
    }
    const all = await sessionWith();
    expect((await all.call('GET', SESSION)).json.scopes).toEqual([
      'read',
      'import',
      'audience',
      'webhook',
      'privacy',
    ]);
  });

  it('nothing without the scope, nothing of a customer, nothing that another site asks for', async () => {
    const id = await partner.createAudience({ customer: 'acme' });
    const customer = await signedIn(api, { user_token: await tokenOf(api, partner, 'acme') });
    expect((await customer.call('GET', SESSION)).json.scopes).toEqual(['read']);
    const mighty = await sessionWith();
    const foreign = await signedIn(api, { api_key: other.key });
    const before = await stateOf();
    for (const [scope, method, path, body] of changes) {
      const unscoped = await sessionWith(keyScopes.filter((one) => one !== scope));
      const tries: [string, Visitor, Record<string, string>, string][] = [
        ['without the scope', unscoped, fromConsole, 'insufficient_scope'],
        ['a customer', customer, fromConsole, 'forbidden'],
        ['no header', mighty, {}, 'forbidden'],
        ['another site', mighty, { ...fromConsole, 'sec-fetch-site': 'cross-site' }, 'forbidden'],
        [
          'another host of the domain',
          mighty,
          { ...fromConsole, 'sec-fetch-site': 'same-site' },
          'forbidden',
        ],
      ];
      for (const [what, visitor, headers, code] of tries) {
        const reply = await visitor.call(method, path(id), { body, headers });
        expect([what, method, path(id), reply.status, reply.json.code]).toEqual([
          what,
          method,
          path(id),
          403,
          code,
        ]);
      }
      if (path(id).endsWith(String(id)))
        expect((await foreign.call(method, path(id), { body, headers: fromConsole })).status).toBe(404);
    }
    expect(await stateOf()).toEqual(before);
  });

  it('nothing once its key has lost the scope', async () => {
    const apiKeys = createApiKeyStore(api.db);
    const { id, key } = await apiKeys.create(api.config.secret, partner.id, 'narrowed');
    const visitor = await signedIn(api, { api_key: key });
    const queue = () =>
      visitor.call('POST', `${IMPORT}?dry_run=true`, {
        body: { file_path: 'a', key_type: 2 },
        headers: fromConsole,
      });
    expect((await queue()).status).toBe(422);
    await api.db
      .collection<{ _id: string }>(collections.apiKeys)
      .updateOne({ _id: id }, { $set: { scopes: ['read'] } });
    await waitFor(async () => (await queue()).status === 403, { what: 'the narrowed key to be refused' });
  });
});

describe('a request that another site makes the browser send', () => {
  it.each([
    ['without the header', {}],
    ['from another site', { ...fromConsole, 'sec-fetch-site': 'cross-site' }],
    ['from another host of the domain', { ...fromConsole, 'sec-fetch-site': 'same-site' }],
  ])('%s: 403, and nothing happens', async (_, headers) => {
    const visitor = await signedIn(api, { api_key: partner.key });
    const { cookie } = visitor;
    for (const [method, body] of [
      ['POST', { api_key: other.key }],
      ['DELETE', undefined],
    ] as const) {
      const reply = await visitor.call(method, SESSION, { body, headers });
      expect([method, reply.status, reply.json.code]).toEqual([method, 403, 'forbidden']);
    }
    expect(visitor.cookie).toBe(cookie);
  });

  it('is refused before its body is read', async () => {
    const connection = await openRaw(api.service.apiUrl);
    const headers = ['Content-Type: application/json', 'Content-Length: 1000'];
    connection.send(`POST ${SESSION} HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n{`);
    const status = await new Promise<string>((resolve) =>
      connection.socket.once('data', (answer) => resolve(String(answer).slice(0, 12))),
    );
    connection.socket.destroy();
    expect(status).toBe('HTTP/1.1 403');
  });

  it('from our own page: allowed', async () => {
    const headers = { ...fromConsole, 'sec-fetch-site': 'same-origin' };
    const reply = await api.anonymous('POST', SESSION, { body: { api_key: partner.key }, headers });
    expect(reply.status).toBe(204);
  });
});
