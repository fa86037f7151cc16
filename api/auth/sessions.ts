/** Sessions of the console: who is signed in, from the cookie to the request and back. */
import { LRUCache } from 'lru-cache';
import { cached } from '../../pipeline/runtime/cached.ts';
import { secretsOf } from '../../pipeline/runtime/seal.ts';
import type { Config } from '../../schemas/config.ts';
import type { Context } from '../http/context.ts';
import { Problem, unauthorized } from '../http/problem.ts';
import type { EndedSessionStore } from '../stores/ended-sessions.ts';
import type { KeyCheck } from './check-key.ts';
import type { KnownPartners, KnownTokenKeys } from './known.ts';
import { hasSessionCookie, openSession, type Session, sealSession, setCookie } from './session-cookie.ts';
import { badUserToken } from './user-tokens.ts';

/** With one lookup, less than the five seconds within which every process refuses a session that was signed out. */
const KEPT_MS = 3_000;
const MAX_KEPT = 10_000;

interface Environment {
  config: Pick<Config, 'secret' | 'secretOld' | 'publicUrl'>;
  endedSessions: EndedSessionStore;
  keys: KeyCheck;
  tokenKeys: Pick<KnownTokenKeys, 'isActive'>;
  knownPartners: KnownPartners;
}

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions({ config, endedSessions, keys, tokenKeys, knownPartners }: Environment) {
  const secrets = secretsOf(config);
  const isSecure = (ctx: Context) => ctx.secure || config.publicUrl?.startsWith('https:') === true;
  const ended = new LRUCache<string, Promise<boolean>>({ max: MAX_KEPT, ttl: KEPT_MS });

  /** A session ends when it expires or is signed out, when its key ends, or when its partner is suspended. */
  async function isOpen({ id, partner, key, tokenKey, expiresAt }: Session): Promise<boolean> {
    if (Date.now() >= expiresAt || (await cached(ended, id, () => endedSessions.has(id)))) return false;
    if (key !== null) return keys.isActive(key);
    if (await knownPartners.isSuspended(partner)) return false;
    return tokenKey === null || tokenKeys.isActive(tokenKey);
  }

  return {
    isOpen,

    has: ({ req }: Context): boolean => hasSessionCookie(req.headers.cookie),

    /** The session of the request. */
    async of({ req }: Context): Promise<Session> {
      const session = openSession(secrets, req.headers.cookie);
      if (session) await knownPartners.refuseSuspended(session.partner);
      if (!session || !(await isOpen(session))) throw unauthorized('The session has ended. Sign in again.');
      return session;
    },

    /** The open session of the request, if any. */
    async current({ req }: Context): Promise<Session | undefined> {
      const session = openSession(secrets, req.headers.cookie);
      return session && (await isOpen(session)) ? session : undefined;
    },

    begin(ctx: Context, session: Session): void {
      const sealed = sealSession(config.secret, session);
      if (sealed === undefined)
        throw badUserToken('The customer name in the user token is too long for a session.');
      const seconds = Math.max(0, Math.floor((session.expiresAt - Date.now()) / 1_000));
      ctx.set('Set-Cookie', setCookie(sealed, seconds, isSecure(ctx)));
    },

    /** Clears the cookie even if MongoDB cannot store the sign-out. */
    async end(ctx: Context): Promise<void> {
      ctx.set('Set-Cookie', setCookie('', 0, isSecure(ctx)));
      const session = openSession(secrets, ctx.req.headers.cookie);
      if (!session) return;
      await endedSessions.add(session.id, new Date(session.expiresAt));
      ended.delete(session.id);
    },
  };
}

/** CSRF protection: only a script of our own pages can set the header. */
export function requireConsole(ctx: Context): void {
  const site = ctx.get('sec-fetch-site');
  if (ctx.get('x-headrace-console') === '1' && (site === '' || site === 'same-origin')) return;
  throw new Problem(
    'forbidden',
    'This request needs the header X-Headrace-Console: 1, which the console sends.',
  );
}
