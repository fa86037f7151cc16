/** User tokens: signed JWTs that name a partner and one of its customers. */
import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
  SignJWT,
} from 'jose';
import { ProvisioningError } from '../../pipeline/stores/partners.ts';
import type { Config } from '../../schemas/config.ts';
import { Problem, unavailable } from '../http/problem.ts';
import { isTokenKeyId, type SigningKey } from '../stores/token-keys.ts';
import type { KnownTokenKeys } from './known.ts';

export interface UserToken {
  partner: string;
  customer: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
  /** The partner's key that signed it; null for a key at the JWKS address. */
  tokenKey: string | null;
}

/** Returns the verified claims. If `partner` is given, the token must be that partner's. */
export type VerifyUserToken = (token: string, partner?: string) => Promise<UserToken>;

export const badUserToken = (detail: string, cause?: unknown) =>
  new Problem('bad_user_token', detail, {
    cause,
    headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' },
  });

/** Why a user token was refused; undefined for other errors. */
export function refusalOf(error: unknown): 'expired' | 'invalid' | 'suspended' | undefined {
  if (error instanceof Problem && error.code === 'partner_suspended') return 'suspended';
  if (!(error instanceof Problem) || error.code !== 'bad_user_token') return undefined;
  return error.extra.cause instanceof errors.JWTExpired ? 'expired' : 'invalid';
}

/** The partners that an expired token may belong to: its issuer (partner's own key), or the partner it names (JWKS key). */
export function claimedPartners(error: unknown): string[] {
  const cause = error instanceof Problem ? error.extra.cause : undefined;
  if (!(cause instanceof errors.JWTExpired)) return [];
  const { iss, partner } = cause.payload;
  return [iss, partner].filter((name): name is string => typeof name === 'string');
}

/** The keys could not be fetched, so the token is neither valid nor invalid. */
class KeysUnreadable extends Error {}

type Settings = Pick<Config, 'userTokenJwksUrl' | 'userTokenIssuer' | 'userTokenAudience' | 'limitBackendMs'>;

const CLOCK_TOLERANCE_S = 5;
/** From iat to exp. */
export const MAX_TOKEN_SECONDS = 7 * 86_400;
// No HMAC here: a public key must never serve as a shared secret.
const publicKeyAlgorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA'.split(' ');

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

function kidOf(token: string): string {
  try {
    return decodeProtectedHeader(token).kid ?? '';
  } catch (cause) {
    throw badUserToken('The user token is not a signed JWT.', cause);
  }
}

function refusal(cause: unknown): Problem {
  if (cause instanceof Problem) return cause;
  if (cause instanceof errors.JWTExpired) return badUserToken('The user token has expired.', cause);
  if (cause instanceof errors.JWTClaimValidationFailed)
    return badUserToken(`The claim ${cause.claim} of the user token is missing or wrong.`, cause);
  if (cause instanceof KeysUnreadable || !(cause instanceof errors.JOSEError))
    return unavailable('The keys that verify user tokens are unavailable. Retry shortly.', cause);
  return badUserToken('The user token cannot be verified.', cause);
}

/** A token key signs for its partner alone. Keys at the JWKS address are the operator's own, and their tokens name the partner. */
export function createVerifyUserToken(
  config: Settings,
  tokenKeys: Pick<KnownTokenKeys, 'lookUp'>,
): VerifyUserToken {
  const { userTokenJwksUrl: url, userTokenIssuer: issuer } = config;
  const required: JWTVerifyOptions = {
    requiredClaims: ['exp', 'iat', 'customer'],
    audience: config.userTokenAudience,
    maxTokenAge: MAX_TOKEN_SECONDS,
    clockTolerance: CLOCK_TOLERANCE_S,
  };
  const remote = url === undefined ? undefined : remoteKeys(url, config.limitBackendMs);

  async function byPartnerKey(token: string, kid: string): Promise<JWTPayload> {
    const key = await tokenKeys.lookUp(kid);
    if (!key) throw badUserToken('The key that signed the user token is unknown or has been retired.');
    const { partner, secret } = key;
    const options = { ...required, issuer: partner, algorithms: ['HS256'] };
    return { ...(await jwtVerify(token, secret, options)).payload, partner };
  }

  async function byRemoteKey(token: string): Promise<JWTPayload> {
    if (!remote || issuer === undefined)
      throw badUserToken('The header of the user token must name one of your token keys (kid).');
    const options = { ...required, issuer, algorithms: publicKeyAlgorithms };
    return (await jwtVerify(token, remote, options)).payload;
  }

  return async (token, expected) => {
    const kid = kidOf(token);
    const isOurs = isTokenKeyId(kid);
    const verified = isOurs ? byPartnerKey(token, kid) : byRemoteKey(token);
    const claims = await verified.catch((cause) => {
      throw refusal(cause);
    });
    const { partner, customer, exp, iat } = claims;
    if (exp! - iat! > MAX_TOKEN_SECONDS)
      throw badUserToken(`The lifetime of a user token must be at most ${MAX_TOKEN_SECONDS} seconds.`);
    const isOthers = typeof partner !== 'string' || (expected !== undefined && partner !== expected);
    if (isOthers || typeof customer !== 'string' || customer === '')
      throw badUserToken('The user token does not belong to this partner, or names no customer.');
    return { partner, customer, expiresAt: exp! * 1_000, tokenKey: isOurs ? kid : null };
  };
}

/** Refuses to sign a token that lives too long to be accepted. */
export async function signUserToken(
  { id, partner, secret }: SigningKey,
  customer: string,
  expiresIn: string,
  { userTokenAudience }: Pick<Config, 'userTokenAudience'>,
): Promise<string> {
  const signed = await new SignJWT({ customer })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: id })
    .setIssuer(partner)
    .setAudience(userTokenAudience)
    .setExpirationTime(expiresIn)
    // Last: each call reads the clock, and the token must not live longer than asked.
    .setIssuedAt()
    .sign(new TextEncoder().encode(secret));
  const { exp, iat } = decodeJwt(signed);
  if (exp! - iat! > MAX_TOKEN_SECONDS)
    throw new ProvisioningError(
      'bad_argument',
      `a user token may be valid for at most ${MAX_TOKEN_SECONDS / 86_400} days`,
    );
  return signed;
}
