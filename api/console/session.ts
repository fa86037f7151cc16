/** The session. Its secret is in a cookie that scripts cannot read. */
import { ApiProblem } from '../client/problem.ts';
import type { Session } from '../client/types.ts';
import { session as ofSession, setSessionEnd } from './api-client.ts';
import { address, navigate, pageOf, safeNext, signInPath } from './router.ts';
import { createStore } from './store.ts';

type SessionState =
  | { state: 'unknown'; problem?: ApiProblem }
  | { state: 'signed-out' }
  | { state: 'signed-in'; session: Session };

export const sessionStore = createStore<SessionState>({ state: 'unknown' });

/** null: signed out. */
export async function findSession(): Promise<Session | null> {
  try {
    return (await ofSession.read<Session>()).data;
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401) return null;
    throw error;
  }
}

const RETRY_MS = 2_000;

export async function loadSession(): Promise<void> {
  try {
    const session = await findSession();
    sessionStore.set(session ? { state: 'signed-in', session } : { state: 'signed-out' });
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    sessionStore.set({ state: 'unknown', problem: error });
    setTimeout(loadSession, RETRY_MS);
  }
}

/** The partner of a customer's ended session, to ask for a new link. */
let ended: string | null = null;
export const endedWith = (): string | null => ended;

/** The session is no longer valid: sign in, then return to the same page. */
export function endSession(): void {
  const known = sessionStore.get();
  if (known.state !== 'signed-in') return;
  const { customer, shared_segment_id, partner_name } = known.session;
  ended = customer !== null || shared_segment_id !== null ? partner_name : null;
  sessionStore.set({ state: 'signed-out' });
  if (pageOf(location.pathname).name !== 'sign-in')
    navigate(signInPath(address.get(), 'expired'), { replace: true });
}
setSessionEnd(endSession);

/** A user token is a JWT: three parts with dots between them. An API key has no dot. */
const credentialOf = (secret: string): { api_key: string } | { user_token: string } =>
  /^[\w-]+\.[\w-]+\.[\w-]+$/.test(secret) ? { user_token: secret } : { api_key: secret };

export async function signIn(secret: string, next: string | null): Promise<void> {
  await ofSession.change('POST', credentialOf(secret.trim()));
  const session = await findSession();
  if (!session)
    throw new ApiProblem(
      401,
      'The browser did not keep the session',
      'Allow cookies for this site, then sign in again.',
    );
  sessionStore.set({ state: 'signed-in', session });
  const wanted = safeNext(next);
  const isAllowed = session.customer === null || !pageOf(wanted.split('?')[0]!).isPartner;
  navigate(isAllowed ? wanted : '/console/audiences', { replace: true });
}

export async function signOut(): Promise<void> {
  await ofSession.change('DELETE');
  sessionStore.set({ state: 'signed-out' });
  navigate('/console/sign-in?reason=signed-out');
}
