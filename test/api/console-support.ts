/** The console's requests without a browser: keeps cookies, does not follow redirects. */
import { signUserToken } from '../../api/auth/user-tokens.ts';
import type { Api, CallOptions, Reply, TestPartner } from './support.ts';

export const SESSION = '/console/session';
export const fromConsole = { 'x-headrace-console': '1' };

export interface Visitor {
  /** The Cookie header, empty before the visitor has signed in. */
  cookie: string;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
}

/** The cookie that a response sets, as the browser sends it back. */
export function cookieOf(headers: Headers): string | undefined {
  return headers.getSetCookie()[0]?.split(';', 1)[0];
}

export function visit(api: Api): Visitor {
  const visitor: Visitor = {
    cookie: '',
    async call(method, path, { body, headers = {} } = {}) {
      const response = await fetch(api.service.apiUrl + path, {
        method,
        redirect: 'manual',
        headers: {
          ...(visitor.cookie === '' ? {} : { cookie: visitor.cookie }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const set = cookieOf(response.headers);
      if (set !== undefined) visitor.cookie = set.endsWith('=') ? '' : set;
      const text = await response.text();
      const isJson = /json/.test(response.headers.get('content-type') ?? '') && text !== '';
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson ? JSON.parse(text) : null,
      };
    },
  };
  return visitor;
}

export const tokenOf = (api: Api, partner: TestPartner, customer: string, expiresIn = '1h') =>
  api.token(partner.id, customer, expiresIn);

/** Signed with the partner's key, but in the name of another partner. */
export const tokenOfOther = async (api: Api, partner: TestPartner, other: string) =>
  signUserToken({ ...(await api.token.keyOf(partner.id)), partner: other }, 'c', '1h', api.config);

export async function signedIn(
  api: Api,
  body: { api_key: string } | { user_token: string },
): Promise<Visitor> {
  const visitor = visit(api);
  const { status, text } = await visitor.call('POST', SESSION, { body, headers: fromConsole });
  if (status !== 204) throw new Error(`not signed in: ${status} ${text}`);
  return visitor;
}
