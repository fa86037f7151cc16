/** Signing in to the console and out of it: by form, by a deep link with a user token, and by share link. */

import { secretsOf } from '../../../pipeline/runtime/seal.ts';
import { segmentOf } from '../../../pipeline/stores/audiences.ts';
import type { Session } from '../../auth/session-cookie.ts';
import type { Sessions } from '../../auth/sessions.ts';
import { openSender, sealSender } from '../../auth/share-links.ts';
import { EndedLink, type SignIn } from '../../auth/sign-in.ts';
import { claimedPartners, refusalOf } from '../../auth/user-tokens.ts';
import { send, sendJson } from '../../http/change.ts';
import { networkOf } from '../../http/connections.ts';
import type { Context, Handler } from '../../http/context.ts';
import { notFound } from '../../http/problem.ts';
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

/** Whether the session already shows the report of the share link. */
const sees = ({ partner, customer }: Session, link: Session) =>
  partner === link.partner && (customer === null || customer === link.customer);

/** A link may replace a session of a share link, but no other. */
const isUser = (session: Session | undefined): session is Session =>
  session !== undefined && session.audience === undefined;

export function createConsoleSession(
  {
    bodies,
    config,
    partners,
    knownPartners,
  }: Pick<Dependencies, 'bodies' | 'config' | 'partners' | 'knownPartners'>,
  { sessions, signIn }: SessionDependencies,
) {
  const secrets = secretsOf(config);

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
    const { scope, keyScopes, onlyAudience, expiresAt } = ctx.state;
    const { name } = await partners.find(scope.partner);
    sendJson(ctx, {
      partner_id: scope.partner,
      partner_name: name,
      customer: scope.customer,
      scopes: keyScopes,
      shared_segment_id: onlyAudience === undefined ? null : segmentOf(onlyAudience),
      expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    });
  };

  const end: Handler = async (ctx) => {
    await sessions.end(ctx);
    ctx.set('Cache-Control', 'no-store');
    send(ctx, { status: 204 });
  };

  /** Whom to ask for a new link, if this one is genuine. */
  async function senderOf(error: unknown): Promise<string> {
    const claimed = error instanceof EndedLink ? [error.partner] : claimedPartners(error);
    for (const partner of claimed)
      if (await knownPartners.lookUp(partner)) return `&from=${sealSender(config.secret, partner)}`;
    return '';
  }

  async function refuse(ctx: Context, error: unknown, page: string, hasSession: boolean): Promise<void> {
    const reason = error instanceof EndedLink ? 'expired' : refusalOf(error);
    if (!reason) throw error;
    const to = `/console/sign-in?reason=${reason}&next=${page}${await senderOf(error)}`;
    redirect(ctx, hasSession ? page : to);
  }

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
      if (isUser(current) && !isSameUser(current, session))
        return redirect(ctx, '/console/sign-in?reason=other');
      sessions.begin(ctx, session);
      redirect(ctx, page);
    } catch (error) {
      await refuse(ctx, error, isUser(current) ? page : path, isUser(current));
    }
  };

  /** A user who is signed in and may see the report keeps their session. */
  const openByShareLink = async (ctx: Context, path: string): Promise<void> => {
    const [sealed = '', ...others] = new URLSearchParams(ctx.querystring).getAll('share');
    const current = await sessions.current(ctx);
    try {
      const session = await signIn.withShareLink(others.length > 0 ? '' : sealed, networkOf(ctx.ip));
      if (isUser(current))
        return redirect(ctx, sees(current, session) ? path : '/console/sign-in?reason=other');
      sessions.begin(ctx, session);
      redirect(ctx, `/console/segments/${segmentOf(session.audience!)}`);
    } catch (error) {
      await refuse(ctx, error, path, isUser(current));
    }
  };

  const sender: Handler = async (ctx) => {
    const partner = openSender(secrets, new URLSearchParams(ctx.querystring).get('from') ?? '');
    const found = partner === undefined ? null : await knownPartners.lookUp(partner);
    if (!found) throw notFound();
    ctx.set('Cache-Control', 'no-store');
    sendJson(ctx, { partner_name: found.name });
  };

  return { create, get, end, openByToken, openByShareLink, sender };
}
