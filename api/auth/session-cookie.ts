/** A session lives in its cookie, sealed so that the browser can neither read nor change it. */
import { z } from 'zod';
import { seal, UnsealError, unseal } from '../../pipeline/runtime/seal.ts';

const NAME = 'headrace_session';
const CONTEXT = 'console session';
/** Browsers silently drop longer cookies. */
const MAX_LENGTH = 4_000;
/** Other sites under the same domain can set cookies of this name. */
const MAX_TRIED = 5;

const session = z.strictObject({
  id: z.string(),
  partner: z.string(),
  /** For sessions opened with a user token. */
  customer: z.string().nullable(),
  /** For sessions opened with an API key: its id. */
  key: z.string().nullable(),
  /** For sessions opened with a user token: the partner's key that signed it. */
  tokenKey: z.string().nullable(),
  /** For sessions opened with a share link: the only audience it shows. */
  audience: z.number().optional(),
  /** Milliseconds since 1970. */
  expiresAt: z.number(),
});
export type Session = Readonly<z.output<typeof session>>;

export const hasSessionCookie = (header: string | undefined): boolean =>
  header?.includes(`${NAME}=`) ?? false;

/** Undefined if the session does not fit into a cookie. */
export function sealSession(secret: Uint8Array, content: Session): string | undefined {
  const sealed = seal(secret, JSON.stringify(content), CONTEXT).toString('base64url');
  return sealed.length > MAX_LENGTH ? undefined : sealed;
}

function openOne(secrets: readonly Uint8Array[], text: string): Session | undefined {
  try {
    const opened = session.parse(JSON.parse(unseal(secrets, Buffer.from(text, 'base64url'), CONTEXT)));
    return Date.now() < opened.expiresAt ? opened : undefined;
  } catch (error) {
    if (error instanceof UnsealError || error instanceof z.ZodError || error instanceof SyntaxError)
      return undefined;
    throw error;
  }
}

/** The first session in a Cookie header that is ours and has not expired. */
export function openSession(secrets: readonly Uint8Array[], header = ''): Session | undefined {
  const texts = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${NAME}=`))
    .map((pair) => pair.slice(NAME.length + 1))
    .filter((text) => text.length <= MAX_LENGTH && /^[\w-]+$/.test(text));
  for (const text of texts.slice(0, MAX_TRIED)) {
    const opened = openOne(secrets, text);
    if (opened) return opened;
  }
  return undefined;
}

/**
 * SameSite=Lax: other sites cannot send it with their own requests, but the deep link works when it is opened from one of them,
 * which Strict would prevent after the redirect.
 */
export const setCookie = (text: string, seconds: number, isSecure: boolean): string =>
  `${NAME}=${text}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
