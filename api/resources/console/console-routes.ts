/** The routes of the console. They belong to its pages, not to the API, so the OpenAPI document does not have them. */
import type { Handler } from '../../http/context.ts';
import type { Route } from '../../http/operation.ts';
import type { Dependencies } from '../shared.ts';
import { createConsolePages } from './console-pages.ts';
import { createConsoleSession, type SessionDependencies } from './console-session.ts';

const SESSION = '/console/session';

export function createConsoleRoutes(deps: Dependencies, signedIn: SessionDependencies): Route[] {
  const session = createConsoleSession(deps, signedIn);
  const pages = createConsolePages(session.openByToken);
  const open: [string, Handler][] = [
    ['/console', pages.home],
    ['/console/sign-in', pages.page],
    ['/console/audiences', pages.page],
    ['/console/segments/:id', pages.segment],
    ['/console/imports', pages.page],
    ['/console/imports/:id', pages.record],
    ['/console/assets/:name', pages.asset],
    ['/console/*path', pages.missing],
  ];
  return [
    { method: 'get', path: SESSION, access: 'user', scopes: ['read'], handler: session.get },
    {
      method: 'post',
      path: SESSION,
      access: 'console',
      scopes: [],
      body: { schema: deps.bodies.signIn },
      handler: session.create,
    },
    { method: 'delete', path: SESSION, access: 'console', scopes: [], handler: session.end },
    ...open.map(([path, handler]): Route => ({ method: 'get', path, access: 'public', scopes: [], handler })),
  ];
}
