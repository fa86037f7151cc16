/** Receipts of privacy requests: anyone can verify them with the installation's public key, and they contain no identifier. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { compactVerify, createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet } from 'jose';
import { expect } from 'vitest';
import { createApiKeyStore } from '../../api/stores/api-keys.ts';
import { withSharedService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { runAdmin } from '../support/run-admin.ts';
import { pythonPackage } from './python-package.ts';

const test = withSharedService();
const pyjwt = { name: 'pyjwt', version: '2.10.1', extras: 'crypto', imports: 'import jwt, cryptography' };

/** Verifies a token with a key set, and prints its claims. */
const script = `
import json, sys, jwt
token, keys = json.load(sys.stdin)
kid = jwt.get_unverified_header(token)["kid"]
key = jwt.PyJWKSet.from_dict(keys)[kid]
print(json.dumps(jwt.decode(token, key.key, algorithms=["ES256"])))
`;

test('a receipt says what was removed and what remains, and PyJWT verifies it', async ({
  service,
  driver,
  skip,
}) => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const devices = ids(30);
  await driver.upload(partner, 'a.csv', file(devices, attribute));
  await driver.upload(partner, 'b.csv', file(devices, 'seen'));
  await driver.import(partner, 'a.csv');
  const audience = await driver.createAudience(partner, 'b.csv');
  const gone = [...devices.slice(0, 12), ...ids(3)];
  const request = await driver.privacy('delete', partner, gone);
  await driver.ended(request);

  const { key } = await createApiKeyStore(driver.db).create(service.config.secret, partner._id);
  const response = await fetch(`${service.apiUrl}/v1/privacy/requests/${request}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  const { receipt } = (await response.json()) as { receipt: string };
  const publicKeys = async () =>
    (await (await fetch(`${service.apiUrl}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
  const keys = await publicKeys();
  expect(JSON.stringify(keys)).not.toContain('"d":');
  const { payload } = await compactVerify(receipt, createLocalJWKSet(keys));
  const text = new TextDecoder().decode(payload);
  const digestOf = (device: string) =>
    createHash('sha256').update(device.replaceAll('-', '')).digest('base64');
  const claims = JSON.parse(text);
  expect(claims).toMatchObject({
    jti: String(request),
    request: { request_id: request, type: 'delete', partner: partner._id, status: 'done' },
    subjects: { identifiers: 15, digests: gone.map(digestOf).sort() },
    found: 12,
    removed: {
      attributes: [{ attribute_id: attribute, devices: 12 }],
      audiences: [{ audience_id: audience, devices: 12 }],
    },
    remains: [{ where: 'messages in Kafka topics' }, { where: 'backups of the database', until: null }],
  });
  const hours = (Date.parse(claims.remains[0].until) - Date.parse(claims.request.completed_at)) / 3_600_000;
  expect(hours).toBe(service.config.retentionHours);
  for (const device of gone)
    for (const form of [device, device.replaceAll('-', '')]) expect(text.toLowerCase()).not.toContain(form);

  // The receipt outlives the request.
  const printed = await runAdmin(['privacy', 'receipt', String(request)], service.env);
  expect(printed.stdout.trim()).toBe(receipt);
  const { expiresAt, createdAt } = (await driver.db
    .collection('receipts')
    .findOne({ _id: request as never }))!;
  expect((expiresAt - createdAt) / 86_400_000).toBe(2_190);

  // A later receipt is signed with another key, and this one still verifies.
  const rotation = await runAdmin(['signing-key', 'rotate', '--json'], service.env);
  const { key: newKey, replaces } = JSON.parse(rotation.stdout);
  expect(replaces).toContain(decodeProtectedHeader(receipt).kid);
  const later = await driver.privacy('restore', partner, gone);
  await driver.ended(later);
  const { jws } = (await driver.db.collection('receipts').findOne({ _id: later as never }))!;
  expect(decodeProtectedHeader(jws).kid).toBe(newKey);
  const bothKeys = createLocalJWKSet(await publicKeys());
  for (const one of [receipt, jws]) await compactVerify(one, bothKeys);
  const canSign = driver.db.collection('signing_keys').find({ sealed: { $exists: true } });
  expect((await canSign.toArray()).map(({ _id }) => _id)).toEqual([newKey]);

  const folder = await pythonPackage(pyjwt).catch((error: Error) => error);
  if (folder instanceof Error) return skip(`no PyJWT: ${folder.message}`);
  const env = { ...process.env, PYTHONPATH: folder };
  const verify = (token: string) => {
    const running = promisify(execFile)('python3', ['-c', script], { env });
    running.child.stdin!.end(JSON.stringify([token, keys]));
    return running;
  };
  expect(JSON.parse((await verify(receipt)).stdout)).toEqual(claims);
  const [header, body, signature] = receipt.split('.') as [string, string, string];
  const other = Buffer.from(text.replace('"found":12', '"found":11')).toString('base64url');
  expect(other).not.toBe(body);
  await expect(verify(`${header}.${other}.${signature}`)).rejects.toThrow('InvalidSignatureError');
});
