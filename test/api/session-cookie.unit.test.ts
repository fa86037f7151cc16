/** The session cookie: whatever a browser sends is a valid session or no session. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openSession, type Session, sealSession, setCookie } from '../../api/auth/session-cookie.ts';
import { seal } from '../../pipeline/runtime/seal.ts';

const secret = randomBytes(32);
const session: Session = {
  id: 'i',
  partner: 'p',
  customer: 'c',
  key: null,
  tokenKey: null,
  expiresAt: Date.now() + 3_600_000,
};
const sealed = (content: Session = session, by = secret) => sealSession(by, content)!;
const cookie = (text: string) => `headrace_session=${text}`;

describe('a sealed session', () => {
  it('opens to what was sealed, with any of the secrets', () => {
    expect(openSession([secret], cookie(sealed()))).toEqual(session);
    expect(openSession([randomBytes(32), secret], cookie(sealed()))).toEqual(session);
    expect(sealed()).not.toBe(sealed());
  });

  it.each<[string, () => string]>([
    ['of another secret', () => sealed(session, randomBytes(32))],
    ['that has expired', () => sealed({ ...session, expiresAt: Date.now() - 1 })],
    [
      'that was sealed for another purpose',
      () => seal(secret, JSON.stringify(session), 'job 1').toString('base64url'),
    ],
    ['with another content', () => seal(secret, '{"partner":"p"}', 'console session').toString('base64url')],
    ['that is no JSON', () => seal(secret, 'p', 'console session').toString('base64url')],
    ['that was cut', () => sealed().slice(0, -4)],
    ['that was changed', () => `${sealed().slice(0, -8)}AAAAAAAA`],
    ['that is empty', () => ''],
    ['that is longer than any of ours', () => 'A'.repeat(16_000)],
    [
      'of an unknown version of sealed values',
      () => Buffer.concat([Buffer.of(1), randomBytes(60)]).toString('base64url'),
    ],
  ])('%s: no session', (_, make) => {
    expect(openSession([secret], cookie(make()))).toBeUndefined();
  });

  it('is found among others, before and after it', () => {
    const header = ['a=b', cookie('garbage'), 'headrace_session_x=1', cookie(sealed()), cookie('more'), 'z'];
    expect(openSession([secret], header.join('; '))).toEqual(session);
    expect(openSession([secret], header.join(';'))).toEqual(session);
  });

  it('is not looked for in many', () => {
    const header = [...Array.from({ length: 100 }, () => cookie('garbage')), cookie(sealed())].join('; ');
    expect(openSession([secret], header)).toBeUndefined();
  });

  it('that does not fit into a cookie is not made', () => {
    expect(sealSession(secret, { ...session, customer: 'x'.repeat(4_000) })).toBeUndefined();
  });

  it('never fails on what a client may send', () => {
    const text = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.string().map(cookie),
      fc.base64String().map(cookie),
    );
    fc.assert(
      fc.property(fc.array(text), (pairs) => {
        expect(openSession([secret], pairs.join('; '))).toBeUndefined();
      }),
    );
  });
});

describe('the cookie', () => {
  it('is out of reach of scripts and of other sites, and Secure behind https', () => {
    expect(setCookie('x', 60, false)).toBe('headrace_session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax');
    expect(setCookie('x', 60, true)).toBe(
      'headrace_session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure',
    );
  });
});
