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

export interface UserToken {
  partner: string;
  customer: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** What the token says, if it is valid, and belongs to this partner where one is given. */
export type VerifyUserToken = (token: string, partner?: string) => Promise<UserToken>;

export const badUserToken = (detail: string, cause?: unknown) =>
  new Problem('bad_user_token', detail, {
    cause,
    headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' },
  });

/** Why a user token was refused; undefined if the error is another one. */
export function refusalOf(error: unknown): 'expired' | 'invalid' | 'suspended' | undefined {
  if (error instanceof Problem && error.code === 'partner_suspended') return 'suspended';
  if (!(error instanceof Problem) || error.code !== 'bad_user_token') return undefined;
  return error.extra.cause instanceof errors.JWTExpired ? 'expired' : 'invalid';
}

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
  return async (token, expected) => {
    if (!verifier) throw badUserToken('User tokens are not enabled in this deployment.');
    let claims: JWTPayload;
    try {
      claims = await verifier(token);
    } catch (cause) {
      if (cause instanceof errors.JWTExpired) throw badUserToken('The user token has expired.', cause);
      if (cause instanceof KeysUnreadable || !(cause instanceof errors.JOSEError))
        throw unavailable('The keys that verify user tokens are unavailable. Retry shortly.', cause);
      throw badUserToken('The user token cannot be verified.', cause);
    }
    const { partner, customer, exp, iat } = claims;
    if (exp! - iat! > config.userTokenMaxSeconds)
      throw badUserToken(
        `The lifetime of a user token must be at most ${config.userTokenMaxSeconds} seconds.`,
      );
    const isOthers = typeof partner !== 'string' || (expected !== undefined && partner !== expected);
    if (isOthers || typeof customer !== 'string' || customer === '')
      throw badUserToken('The user token does not belong to this partner, or names no customer.');
    return { partner, customer, expiresAt: exp! * 1_000 };
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
