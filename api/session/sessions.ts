/** Sessions of the console: who is signed in, from the cookie to the request and back. */
import { secretsOf } from '../../pipeline/runtime/seal.ts';
import type { Config } from '../../schemas/config.ts';
import type { KeyCheck } from '../check-key.ts';
import type { Context } from '../context.ts';
import { Problem, unauthorized } from '../problem.ts';
import { hasSessionCookie, openSession, type Session, sealSession, setCookie } from './session-cookie.ts';

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions(
  { publicUrl, ...config }: Pick<Config, 'secret' | 'secretOld' | 'publicUrl'>,
  keys: KeyCheck,
) {
  const secrets = secretsOf(config);
  const isSecure = (ctx: Context) => ctx.secure || publicUrl?.startsWith('https:') === true;

  return {
    has: ({ req }: Context): boolean => hasSessionCookie(req.headers.cookie),

    /** The session of the request. A session ends when its time is over, or when its API key is revoked. */
    async of({ req }: Context): Promise<Session> {
      const session = openSession(secrets, req.headers.cookie);
      if (!session || (session.key !== null && !(await keys.isActive(session.key))))
        throw unauthorized('The session has ended. Sign in again.');
      return session;
    },

    begin(ctx: Context, session: Session): void {
      const sealed = sealSession(config.secret, session);
      if (sealed === undefined)
        throw new Problem(
          'bad_user_token',
          'The customer’s name in the user token is too long for a session.',
        );
      const seconds = Math.floor((session.expiresAt - Date.now()) / 1_000);
      ctx.set('Set-Cookie', setCookie(sealed, seconds, isSecure(ctx)));
    },

    /** The browser forgets the session. */
    end(ctx: Context): void {
      ctx.set('Set-Cookie', setCookie('', 0, isSecure(ctx)));
    },
  };
}
