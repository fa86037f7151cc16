/** User tokens whose keys come from a JWKS address. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVerifyUserToken, signUserToken } from '../../api/user-tokens.ts';

/** What a server of keys says when it is not well. */
const answers: Record<string, [number, string]> = {
  '/error': [500, 'down'],
  '/missing': [404, '{}'],
  '/garbage': [200, '<html>'],
  '/empty': [200, '{}'],
};
let server: Server;
let url: string;
let keys: Awaited<ReturnType<typeof generateKeyPair>>;
let publicKey: JWK;
beforeAll(async () => {
  keys = await generateKeyPair('RS256', { extractable: true });
  publicKey = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256' };
  server = createServer((request, response) => {
    const [status, body] = answers[request.url!] ?? [200, JSON.stringify({ keys: [publicKey] })];
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
});
afterAll(() => server.close());

const settings = { limitBackendMs: 60_000, userTokenMaxSeconds: 86_400 };
const verifierAt = (address: string) => createVerifyUserToken({ ...settings, userTokenJwksUrl: address });
const claims = { partner: 'p', customer: 'c' };
const signed = () =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: 'one' })
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(keys.privateKey);

describe('a JWKS address', () => {
  it('verifies tokens of its keys', async () => {
    expect(await verifierAt(url)(await signed(), 'p')).toMatchObject(claims);
    expect(await verifierAt(url)(await signed())).toMatchObject(claims);
    await expect(verifierAt(url)(await signed(), 'other')).rejects.toMatchObject({ code: 'bad_user_token' });
  });

  it('does not let the public key pass as a shared secret', async () => {
    const secret = new TextEncoder().encode(await exportSPKI(keys.publicKey));
    const forged = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(secret);
    await expect(verifierAt(url)(forged, 'p')).rejects.toMatchObject({ code: 'bad_user_token', status: 401 });
  });

  it('refuses a key that is not there', async () => {
    const other = await generateKeyPair('RS256');
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'two' })
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(other.privateKey);
    await expect(verifierAt(url)(token, 'p')).rejects.toMatchObject({ code: 'bad_user_token' });
  });

  it.each(Object.keys(answers))(
    'that answers %s: the call is refused for now, not the token',
    async (path) => {
      await expect(verifierAt(new URL(path, url).href)(await signed(), 'p')).rejects.toMatchObject({
        code: 'unavailable',
        status: 503,
      });
    },
  );

  it('that does not answer: the call is refused for now, not the token', async () => {
    await expect(verifierAt('http://127.0.0.1:1/')(await signed(), 'p')).rejects.toMatchObject({
      code: 'unavailable',
      status: 503,
    });
  });
});

describe('claims', () => {
  const secret = new Uint8Array(32).fill(7);
  const refused = { code: 'bad_user_token', status: 401 };
  const verify = (token: string, more = {}) =>
    createVerifyUserToken({ ...settings, userTokenSecret: Buffer.from(secret), ...more })(token, 'p');
  const named = { userTokenIssuer: 'https://login.example.com/', userTokenAudience: 'headrace' };

  it('issuer and audience are held to where they are configured', async () => {
    const token = await signUserToken(secret, claims, '1h', named);
    const plain = await signUserToken(secret, claims, '1h');
    expect(await verify(token, named)).toMatchObject({ customer: 'c' });
    expect(await verify(token)).toMatchObject({ customer: 'c' });
    expect(await verify(plain)).toMatchObject({ customer: 'c' });
    await expect(verify(plain, named)).rejects.toMatchObject(refused);
    await expect(verify(token, { ...named, userTokenIssuer: 'other' })).rejects.toMatchObject(refused);
    await expect(verify(token, { ...named, userTokenAudience: 'other' })).rejects.toMatchObject(refused);
  });

  it('a token may not live longer than the maximum, nor hide when it was made', async () => {
    expect(await verify(await signUserToken(secret, claims, '24h'))).toMatchObject({ customer: 'c' });
    await expect(verify(await signUserToken(secret, claims, '25h'))).rejects.toMatchObject(refused);
    const sign = (token: SignJWT) => token.setProtectedHeader({ alg: 'HS256' }).sign(secret);
    const ageless = await sign(new SignJWT(claims).setExpirationTime('1h'));
    await expect(verify(ageless)).rejects.toMatchObject(refused);
    const fromTomorrow = await sign(new SignJWT(claims).setIssuedAt('1 day').setExpirationTime('2 days'));
    await expect(verify(fromTomorrow)).rejects.toMatchObject(refused);
  });
});

describe('no keys at all', () => {
  it('refuse every token', async () => {
    const verify = createVerifyUserToken(settings);
    await expect(verify(await signed(), 'p')).rejects.toMatchObject({ code: 'bad_user_token' });
  });
});
