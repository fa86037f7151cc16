/** User tokens: signed JWTs that name a partner and one of its customers. */
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify, SignJWT } from 'jose';
import type { Config } from '../schemas/config.ts';
import { Problem, unavailable } from './problem.ts';

/** Gives the customer, if the token is good and of this partner. */
export type VerifyUserToken = (token: string, partner: string) => Promise<string>;

const refused = (detail: string, cause?: unknown) =>
  new Problem('bad_user_token', detail, {
    cause,
    headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' },
  });

const required = { requiredClaims: ['exp', 'partner', 'customer'], clockTolerance: 5 };

function createVerifier(config: Config): ((token: string) => Promise<JWTPayload>) | undefined {
  if (config.userTokenJwksUrl !== undefined) {
    const keys = createRemoteJWKSet(new URL(config.userTokenJwksUrl), {
      timeoutDuration: config.limitBackendMs,
    });
    // No HMAC here: a public key must never serve as a shared secret.
    const options: JWTVerifyOptions = {
      ...required,
      algorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
    };
    return async (token) => (await jwtVerify(token, keys, options)).payload;
  }
  const secret = config.userTokenSecret;
  if (secret === undefined) return undefined;
  return async (token) => (await jwtVerify(token, secret, { ...required, algorithms: ['HS256'] })).payload;
}

export function createVerifyUserToken(config: Config): VerifyUserToken {
  const verifier = createVerifier(config);
  return async (token, partner) => {
    if (!verifier) throw refused('User tokens are not set up here.');
    let claims: JWTPayload;
    try {
      claims = await verifier(token);
    } catch (cause) {
      if (cause instanceof errors.JWTExpired) throw refused('The user token has expired.', cause);
      if (cause instanceof errors.JWKSTimeout || !(cause instanceof errors.JOSEError))
        throw unavailable('The keys of user tokens cannot be read.', cause);
      throw refused('The user token cannot be verified.', cause);
    }
    const { customer } = claims;
    if (claims.partner !== partner || typeof customer !== 'string' || customer === '')
      throw refused('The user token is not for this partner.');
    return customer;
  };
}

export const signUserToken = (
  secret: Uint8Array,
  claims: { partner: string; customer: string },
  expiresIn: string,
): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuedAt()
    .setExpirationTime(expiresIn)
    .sign(secret);
