/** User tokens: signed JWTs that name a partner and one of its customers. */
import {
  createRemoteJWKSet,
  decodeJwt,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
  SignJWT,
} from 'jose';
import { ProvisioningError } from '../pipeline/stores/partners.ts';
import type { Config } from '../schemas/config.ts';
import { Problem, unavailable } from './problem.ts';

/** Returns the customer, if the token is valid and belongs to this partner. */
export type VerifyUserToken = (token: string, partner: string) => Promise<string>;

const refused = (detail: string, cause?: unknown) =>
  new Problem('bad_user_token', detail, {
    cause,
    headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' },
  });

/** The keys could not be fetched, so the token is neither valid nor invalid. */
class KeysUnreadable extends Error {}

type Settings = Pick<
  Config,
  | 'userTokenJwksUrl'
  | 'userTokenSecret'
  | 'userTokenIssuer'
  | 'userTokenAudience'
  | 'userTokenMaxSeconds'
  | 'limitBackendMs'
>;

const CLOCK_TOLERANCE_S = 5;

/** The keys at the URL. Only a missing or unsupported key makes the token invalid; every other error is the service's. */
function remoteKeys(url: string, timeoutDuration: number): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(new URL(url), { timeoutDuration });
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys ||
        error instanceof errors.JOSENotSupported
      )
        throw error;
      throw new KeysUnreadable('cannot fetch the JWKS that verifies user tokens', { cause: error });
    }
  };
}

function createVerifier(config: Settings): ((token: string) => Promise<JWTPayload>) | undefined {
  const required: JWTVerifyOptions = {
    requiredClaims: ['exp', 'iat', 'partner', 'customer'],
    clockTolerance: CLOCK_TOLERANCE_S,
    ...(config.userTokenIssuer === undefined ? {} : { issuer: config.userTokenIssuer }),
    ...(config.userTokenAudience === undefined ? {} : { audience: config.userTokenAudience }),
    maxTokenAge: config.userTokenMaxSeconds,
  };
  if (config.userTokenJwksUrl !== undefined) {
    const keys = remoteKeys(config.userTokenJwksUrl, config.limitBackendMs);
    // No HMAC here: a public key must never serve as a shared secret.
    const algorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA'.split(' ');
    return async (token) => (await jwtVerify(token, keys, { ...required, algorithms })).payload;
  }
  const secret = config.userTokenSecret;
  if (secret === undefined) return undefined;
  return async (token) => (await jwtVerify(token, secret, { ...required, algorithms: ['HS256'] })).payload;
}

export function createVerifyUserToken(config: Settings): VerifyUserToken {
  const verifier = createVerifier(config);
  return async (token, partner) => {
    if (!verifier) throw refused('User tokens are not enabled in this deployment.');
    let claims: JWTPayload;
    try {
      claims = await verifier(token);
    } catch (cause) {
      if (cause instanceof errors.JWTExpired) throw refused('The user token has expired.', cause);
      if (cause instanceof KeysUnreadable || !(cause instanceof errors.JOSEError))
        throw unavailable('The keys that verify user tokens are unavailable. Retry shortly.', cause);
      throw refused('The user token cannot be verified.', cause);
    }
    const { customer, exp, iat } = claims;
    if (exp! - iat! > config.userTokenMaxSeconds)
      throw refused(`The lifetime of a user token must be at most ${config.userTokenMaxSeconds} seconds.`);
    if (claims.partner !== partner || typeof customer !== 'string' || customer === '')
      throw refused('The user token does not belong to this partner, or names no customer.');
    return customer;
  };
}

type Signing = Partial<Pick<Settings, 'userTokenIssuer' | 'userTokenAudience' | 'userTokenMaxSeconds'>>;

/** Refuses to sign a token that lives too long to be accepted. */
export async function signUserToken(
  secret: Uint8Array,
  claims: { partner: string; customer: string },
  expiresIn: string,
  { userTokenIssuer, userTokenAudience, userTokenMaxSeconds = Number.POSITIVE_INFINITY }: Signing = {},
): Promise<string> {
  const token = new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuedAt()
    .setExpirationTime(expiresIn);
  if (userTokenIssuer !== undefined) token.setIssuer(userTokenIssuer);
  if (userTokenAudience !== undefined) token.setAudience(userTokenAudience);
  const signed = await token.sign(secret);
  const { exp, iat } = decodeJwt(signed);
  if (exp! - iat! > userTokenMaxSeconds)
    throw new ProvisioningError(
      'bad_argument',
      `a user token may be valid for ${userTokenMaxSeconds} seconds at most (HEADRACE_USER_TOKEN_MAX_SECONDS)`,
    );
  return signed;
}
