/** User tokens: which keys sign for which partner, and which claims are required. */
import { execFileSync } from 'node:child_process';
import { createSecretKey } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KnownTokenKeys } from '../../api/auth/known.ts';
import { createVerifyUserToken, signUserToken } from '../../api/auth/user-tokens.ts';
import { introduction } from '../../api/describe/introduction.ts';
import { parseConfig } from '../../schemas/config.ts';
import { readConfigFile } from '../support/env-file.ts';

const settings = { limitBackendMs: 60_000, userTokenAudience: 'headrace' };
const refused = { code: 'bad_user_token', status: 401 };

/** Keys of two partners. */
const own = { id: 'tk_aaaaaaaa', partner: 'p', secret: 'tksec_one' };
const others = { id: 'tk_bbbbbbbb', partner: 'other', secret: 'tksec_two' };
const tokenKeys: Pick<KnownTokenKeys, 'lookUp'> = {
  async lookUp(id) {
    const key = [own, others].find((one) => one.id === id);
    return key && { partner: key.partner, secret: createSecretKey(key.secret, 'utf8') };
  },
};
const verify = (token: string, partner?: string, more = {}) =>
  createVerifyUserToken({ ...settings, ...more }, tokenKeys)(token, partner);
const sign = (key = own, expiresIn = '1h') => signUserToken(key, 'c', expiresIn, settings);

/** A token that lacks or changes something. */
const signAs = (
  changes: { header?: object; claims?: object; secret?: string; without?: string },
  expiresIn = 3_600,
) => {
  const now = Math.floor(Date.now() / 1_000);
  const claims: Record<string, unknown> = {
    ...{ iss: 'p', aud: 'headrace', customer: 'c', iat: now, exp: now + expiresIn },
    ...changes.claims,
  };
  if (changes.without) delete claims[changes.without];
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', kid: own.id, ...changes.header })
    .sign(new TextEncoder().encode(changes.secret ?? own.secret));
};

describe('a key of a partner', () => {
  it('signs for the customers of this partner', async () => {
    const meant = { partner: 'p', customer: 'c', tokenKey: own.id };
    expect(await verify(await sign(), 'p')).toMatchObject(meant);
    expect(await verify(await sign())).toMatchObject(meant);
    expect(await verify(await signAs({}))).toMatchObject(meant);
  });

  it('signs for no other partner, whatever the token says', async () => {
    await expect(verify(await sign(others), 'p')).rejects.toMatchObject(refused);
    for (const claims of [{ iss: 'other' }, { iss: ['p', 'other'] }])
      await expect(verify(await signAs({ claims }))).rejects.toMatchObject(refused);
    const claims = { partner: 'other' };
    expect(await verify(await signAs({ claims }))).toMatchObject({ partner: 'p' });
    await expect(verify(await signAs({ claims }), 'other')).rejects.toMatchObject(refused);
  });

  it.each([
    ['an unknown key', { header: { kid: 'tk_cccccccc' } }, 'unknown or has been retired'],
    ['no key', { header: { kid: undefined } }, '(kid)'],
    ['a key of another form', { header: { kid: '{"$ne":1}' } }, '(kid)'],
    ['the key of another', { header: { kid: others.id } }, 'cannot be verified'],
    ['another secret', { secret: 'tksec_guessed' }, 'cannot be verified'],
    ['another algorithm', { header: { alg: 'HS512' }, secret: 'x'.repeat(64) }, 'cannot be verified'],
    ['no issuer', { without: 'iss' }, 'claim iss'],
    ['another audience', { claims: { aud: 'another' } }, 'claim aud'],
    ['no audience', { without: 'aud' }, 'claim aud'],
    ['no customer', { without: 'customer' }, 'claim customer'],
    ['an empty customer', { claims: { customer: '' } }, 'names no customer'],
    ['no end', { without: 'exp' }, 'claim exp'],
    ['no time of its making', { without: 'iat' }, 'claim iat'],
  ])('a token with %s is refused, and says why', async (_, changes, reason) => {
    await expect(verify(await signAs(changes))).rejects.toMatchObject({
      ...refused,
      detail: expect.stringContaining(reason),
    });
  });

  it.each(['', 'x', 'a.b.c', '..', 'eyJhbGciOiJub25lIn0.e30.'])(
    'what is no token is refused: %j',
    async (text) => {
      await expect(verify(text)).rejects.toMatchObject(refused);
    },
  );

  it('a token may not live longer than the maximum, nor be of tomorrow', async () => {
    expect(await verify(await sign(own, '7d'))).toMatchObject({ customer: 'c' });
    await expect(sign(own, '8d')).rejects.toThrow('at most 7 days');
    await expect(verify(await signAs({}, 608_400))).rejects.toMatchObject(refused);
    const tomorrow = Math.floor(Date.now() / 1_000) + 86_400;
    const claims = { iat: tomorrow, exp: tomorrow + 60 };
    await expect(verify(await signAs({ claims }))).rejects.toMatchObject(refused);
  });

  it('that cannot be read: the call is refused for now, not the token', async () => {
    const unreadable = createVerifyUserToken(settings, {
      lookUp: () => Promise.reject(new Error('MongoDB does not answer')),
    });
    await expect(unreadable(await sign())).rejects.toMatchObject({ code: 'unavailable', status: 503 });
  });
});

describe('the reference', () => {
  const config = parseConfig({ ...readConfigFile('minimal.env'), HEADRACE_USER_TOKEN_AUDIENCE: 'of-ours' });
  const shown = (language: string) =>
    [...introduction(config).matchAll(/```(\w+)\n([\s\S]*?)```/g)].find(
      ([, name, code]) => name === language && /signUserToken|sign_user_token/.test(code!),
    )![2]!;
  const run = (command: string, args: string[], input: string) =>
    execFileSync(command, args, { input, encoding: 'utf8' }).trim();
  const given = [own.id, own.secret, own.partner, 'Société "Acme"'].map((text) => JSON.stringify(text));

  it.each([
    [
      'js',
      (code: string) =>
        run(
          process.execPath,
          ['--input-type=module', '-'],
          `${code}\nconsole.log(signUserToken(${given.join(', ')}))`,
        ),
    ],
    [
      'python',
      (code: string) => run('python3', ['-'], `${code}\nprint(sign_user_token(${given.join(', ')}))`),
    ],
  ])('shows how to sign in %s', async (language, signWith) => {
    const token = signWith(shown(language));
    const verified = await verify(token, 'p', { userTokenAudience: 'of-ours' });
    expect(verified).toMatchObject({ partner: 'p', customer: 'Société "Acme"', tokenKey: own.id });
  });
});

describe('a JWKS address', () => {
  /** Responses of a key server that is failing. */
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

  const userTokenIssuer = 'https://login.example.com/';
  const claims = { partner: 'p', customer: 'c' };
  const verifyAt = (address: string, token: string, partner?: string) =>
    verify(token, partner, { userTokenJwksUrl: address, userTokenIssuer });
  const unsigned = (issuer = userTokenIssuer, audience = 'headrace') =>
    new SignJWT(claims).setIssuer(issuer).setAudience(audience).setIssuedAt().setExpirationTime('1h');
  const signed = (token = unsigned(), kid = 'one') =>
    token.setProtectedHeader({ alg: 'RS256', kid }).sign(keys.privateKey);

  it('verifies tokens of its keys, beside those of partners', async () => {
    expect(await verifyAt(url, await signed(), 'p')).toMatchObject({ ...claims, tokenKey: null });
    expect(await verifyAt(url, await signed())).toMatchObject(claims);
    expect(await verifyAt(url, await sign())).toMatchObject({ ...claims, tokenKey: own.id });
    await expect(verifyAt(url, await signed(), 'other')).rejects.toMatchObject(refused);
  });

  it('is asked for no key of ours', async () => {
    await expect(verifyAt(url, await signed(unsigned(), own.id))).rejects.toMatchObject(refused);
  });

  it('issuer and audience are held to', async () => {
    for (const token of [unsigned('other'), unsigned(userTokenIssuer, 'other'), unsigned('p')])
      await expect(verifyAt(url, await signed(token))).rejects.toMatchObject(refused);
  });

  it('does not let the public key pass as a shared secret', async () => {
    const secret = new TextEncoder().encode(await exportSPKI(keys.publicKey));
    const forged = await unsigned().setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(secret);
    await expect(verifyAt(url, forged, 'p')).rejects.toMatchObject(refused);
  });

  it('refuses a key that is not there', async () => {
    const other = await generateKeyPair('RS256');
    const token = await unsigned().setProtectedHeader({ alg: 'RS256', kid: 'two' }).sign(other.privateKey);
    await expect(verifyAt(url, token, 'p')).rejects.toMatchObject(refused);
  });

  it.each(Object.keys(answers))(
    'that answers %s: the call is refused for now, not the token',
    async (path) => {
      await expect(verifyAt(new URL(path, url).href, await signed(), 'p')).rejects.toMatchObject({
        code: 'unavailable',
        status: 503,
      });
    },
  );

  it('that does not answer: the call is refused for now, not the token', async () => {
    await expect(verifyAt('http://127.0.0.1:1/', await signed(), 'p')).rejects.toMatchObject({
      code: 'unavailable',
      status: 503,
    });
  });

  it('that is not configured: its tokens are refused', async () => {
    await expect(verify(await signed(), 'p')).rejects.toMatchObject(refused);
  });
});
