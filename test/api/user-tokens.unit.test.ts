/** User tokens whose keys come from a JWKS address. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVerifyUserToken } from '../../api/user-tokens.ts';
import type { Config } from '../../schemas/config.ts';

let server: Server;
let url: string;
let keys: Awaited<ReturnType<typeof generateKeyPair>>;
let publicKey: JWK;
beforeAll(async () => {
  keys = await generateKeyPair('RS256', { extractable: true });
  publicKey = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256' };
  server = createServer((_request, response) => response.end(JSON.stringify({ keys: [publicKey] })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
});
afterAll(() => server.close());

const verifierAt = (address: string) =>
  createVerifyUserToken({ userTokenJwksUrl: address, limitBackendMs: 1_000 } as Config);
const claims = { partner: 'p', customer: 'c' };
const signed = () =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: 'one' })
    .setExpirationTime('1h')
    .sign(keys.privateKey);

describe('a JWKS address', () => {
  it('verifies tokens of its keys', async () => {
    expect(await verifierAt(url)(await signed(), 'p')).toBe('c');
    await expect(verifierAt(url)(await signed(), 'other')).rejects.toMatchObject({ code: 'bad_user_token' });
  });

  it('does not let the public key pass as a shared secret', async () => {
    const secret = new TextEncoder().encode(await exportSPKI(keys.publicKey));
    const forged = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .setExpirationTime('1h')
      .sign(secret);
    await expect(verifierAt(url)(forged, 'p')).rejects.toMatchObject({ code: 'bad_user_token', status: 401 });
  });

  it('refuses a key that is not there', async () => {
    const other = await generateKeyPair('RS256');
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'two' })
      .setExpirationTime('1h')
      .sign(other.privateKey);
    await expect(verifierAt(url)(token, 'p')).rejects.toMatchObject({ code: 'bad_user_token' });
  });

  it('that does not answer: the call is refused for now, not the token', async () => {
    await expect(verifierAt('http://127.0.0.1:1/')(await signed(), 'p')).rejects.toMatchObject({
      code: 'unavailable',
      status: 503,
    });
  });
});

describe('no keys at all', () => {
  it('refuse every token', async () => {
    const verify = createVerifyUserToken({ limitBackendMs: 1_000 } as Config);
    await expect(verify(await signed(), 'p')).rejects.toMatchObject({ code: 'bad_user_token' });
  });
});
