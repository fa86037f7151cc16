/** Signing in to the console and out of it: by form, and by the deep link that carries a user token. */

import type { Session } from '../../auth/session-cookie.ts';
import type { Sessions } from '../../auth/sessions.ts';
import type { SignIn } from '../../auth/sign-in.ts';
import { refusalOf } from '../../auth/user-tokens.ts';
import { send } from '../../http/change.ts';
import { networkOf } from '../../http/connections.ts';
import type { Context, Handler } from '../../http/context.ts';
import { validate } from '../../http/validate.ts';
import type { Dependencies } from '../shared.ts';

export interface SessionDependencies {
  sessions: Sessions;
  signIn: SignIn;
}

function redirect(ctx: Context, to: string): void {
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', Location: to });
  ctx.status = 303;
}

const isSameUser = (one: Session, other: Session) =>
  one.partner === other.partner && one.customer === other.customer;

export function createConsoleSession(
  { bodies, partners }: Pick<Dependencies, 'bodies' | 'partners'>,
  { sessions, signIn }: SessionDependencies,
) {
  const create: Handler = async (ctx) => {
    const { api_key, user_token } = validate(bodies.signIn, ctx.request.body);
    const network = networkOf(ctx.ip);
    sessions.begin(
      ctx,
      api_key === undefined
        ? await signIn.withToken(user_token!, network)
        : await signIn.withKey(api_key, network),
    );
    ctx.set('Cache-Control', 'no-store');
    send(ctx, { status: 204 });
  };

  const get: Handler = async (ctx) => {
    const { scope, keyScopes, expiresAt } = ctx.state;
    const { name } = await partners.find(scope.partner);
    send(ctx, {
      status: 200,
      body: JSON.stringify({
        partner_id: scope.partner,
        partner_name: name,
        customer: scope.customer,
        scopes: keyScopes,
        expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
      }),
    });
  };

  const end: Handler = async (ctx) => {
    await sessions.end(ctx);
    ctx.set('Cache-Control', 'no-store');
    send(ctx, { status: 204 });
  };

  /**
   * The redirect keeps the token out of the history and the referrer. Any site can open such a link, so it never replaces an existing
   * session.
   */
  const openByToken = async (ctx: Context, path: string): Promise<void> => {
    const query = new URLSearchParams(ctx.querystring);
    const [token = '', ...others] = query.getAll('token');
    query.delete('token');
    const page = query.size === 0 ? path : `${path}?${query}`;
    const current = await sessions.current(ctx);
    try {
      const session = await signIn.withToken(others.length > 0 ? '' : token, networkOf(ctx.ip));
      if (current && !isSameUser(current, session)) return redirect(ctx, '/console/sign-in?reason=other');
      sessions.begin(ctx, session);
      redirect(ctx, page);
    } catch (error) {
      const reason = refusalOf(error);
      if (!reason) throw error;
      redirect(ctx, current ? page : `/console/sign-in?reason=${reason}&next=${path}`);
    }
  };

  return { create, get, end, openByToken };
}
