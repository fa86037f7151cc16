/** Rotating HEADRACE_SECRET as the command's help says: keys, repetitions, credentials, webhooks and token keys keep working. */
import { randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createManageWebhooks } from '../../api/resources/webhooks/manage-webhooks.ts';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { openTokenKey } from '../../api/stores/token-keys.ts';
import { webhookSecrets } from '../../api/stores/webhooks.ts';
import { seal, sealedWith, secretId, unseal } from '../../pipeline/runtime/seal.ts';
import { openCredentials } from '../../pipeline/sources/credentials.ts';
import { connectMongo, type Mongo } from '../../pipeline/stores/mongo.ts';
import { draftPartner } from '../../pipeline/stores/partners.ts';
import { collections } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import type { ApiKeyDocument } from '../../schemas/partner-documents.ts';
import { runHeadrace } from '../support/run-headrace.ts';
import { type OwnService, startService } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const before = randomBytes(32);
const after = randomBytes(32);
const credentials = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'very/secret+key' };
let service: OwnService;
let mongo: Mongo;
beforeAll(async () => {
  service = await startService({ parts: ['api'], env: { HEADRACE_SECRET: before.toString('base64') } });
  mongo = await connectMongo(service.config);
});
afterAll(async () => {
  await mongo?.db.dropDatabase();
  await mongo?.close();
  await service?.stop();
});

/** Restarts the service with other secrets on the same database. */
async function restartWith(secret: Buffer, old: Buffer[]): Promise<void> {
  service.env.HEADRACE_SECRET = secret.toString('base64');
  service.env.HEADRACE_SECRET_OLD = old.map((one) => one.toString('base64')).join(',');
  await service.restart('api', service.env);
}
async function rotate() {
  const { code, stdout, stderr } = await runHeadrace(['admin', 'secret', 'rotate', '--json'], service.env);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

it('keys, repetitions and credentials outlive a rotation', async () => {
  const partner = draftPartner('Acme');
  const stores = createApiStores(mongo.db);
  const { partners, apiKeys, tokenKeys, webhooks } = stores;
  await partners.insert(partner);
  const used = await apiKeys.create(before, partner._id);
  const unused = await apiKeys.create(before, partner._id);
  const { webhook, secret } = await createManageWebhooks({ ...stores, config: service.config }).register(
    partner._id,
    { url: 'https://hooks.acme.example/', description: null },
  );
  const tokenKey = await tokenKeys.create(before, partner._id);
  const signingKey = await stores.signingKeys.current([before]);
  const { identifierLists, requestResults } = stores;
  const identifier = '8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11';
  const list = await identifierLists.store([identifier], before);
  const answer = { job: 8, slot: 3, found: 1, spaces: ['m'] };
  const sealed = new Binary(seal(before, '[]', 'request 8.3'));
  await requestResults.store({ ...answer, sealed });
  await requestResults.store({ ...answer, slot: 4 });
  const body = {
    file_path: 's3://their-bucket/a.csv',
    key_type: 0,
    path_type: 1,
    credentials: { ...credentials, region: 'eu-west-1' },
  };
  const post = async (key: string) => {
    const response = await fetch(`${service.apiUrl}/v1/marketplace/import`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': 'one',
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const first = await post(used.key);
  expect(first.status).toBe(202);
  const jobs = mongo.db.collection<JobDocument>(collections.jobs);
  const job = async () => (await jobs.findOne({ partner: partner._id }))!;
  expect(sealedWith((await job()).credentials!)).toBe(secretId(before));

  await restartWith(after, [before]);
  expect(await post(used.key)).toEqual(first);
  expect(await jobs.countDocuments()).toBe(1);
  const keys = mongo.db.collection<ApiKeyDocument>(collections.apiKeys);
  await waitFor(() => keys.findOne({ _id: used.id, secretId: secretId(after) }), { what: 'a new hash' });
  expect(await rotate()).toEqual({
    resealed_jobs: 1,
    unreadable_jobs: [],
    resealed_webhooks: 1,
    resealed_token_keys: 1,
    resealed_signing_keys: 1,
    resealed_requests: 2,
    keys_to_come: 1,
  });
  const stored = (await webhooks.find(partner._id, webhook._id))!;
  expect(webhookSecrets([after], stored, new Date())).toEqual([secret]);
  expect(openTokenKey([after], (await tokenKeys.find(tokenKey.id))!)).toEqual(tokenKey);
  expect((await stores.signingKeys.current([after])).key.equals(signingKey.key)).toBe(true);
  for await (const lines of identifierLists.read(list, [after]))
    expect(String(lines)).toBe(`${identifier}\n`);
  expect(unseal([after], (await requestResults.find(8, 3))!.sealed!, 'request 8.3')).toBe('[]');
  expect(sealedWith((await job()).credentials!)).toBe(secretId(after));
  expect(openCredentials([after], await job())).toEqual(credentials);
  expect(await rotate()).toEqual({
    resealed_jobs: 0,
    unreadable_jobs: [],
    resealed_webhooks: 0,
    resealed_token_keys: 0,
    resealed_signing_keys: 0,
    resealed_requests: 0,
    keys_to_come: 1,
  });

  await restartWith(after, []);
  const statusOf = async (key: string) => {
    const headers = { Authorization: `Bearer ${key}` };
    return (await fetch(`${service.apiUrl}/v1/marketplace/import`, { headers })).status;
  };
  expect([await statusOf(used.key), await statusOf(unused.key)]).toEqual([200, 401]);
});
