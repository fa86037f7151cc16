/** The routes of the console. They serve its pages and are not part of the API, so the OpenAPI document leaves them out. */
import { answer, send } from '../../http/change.ts';
import type { Context, Handler } from '../../http/context.ts';
import type { Route } from '../../http/operation.ts';
import { validate } from '../../http/validate.ts';
import type { Dependencies } from '../shared.ts';
import { createConsolePages } from './console-pages.ts';
import { createConsoleSession, type SessionDependencies } from './console-session.ts';
import { createUploadUrls } from './upload-urls.ts';

const SESSION = '/console/session';

export function createConsoleRoutes(deps: Dependencies, signedIn: SessionDependencies): Route[] {
  const session = createConsoleSession(deps, signedIn);
  const uploads = createUploadUrls(deps.config);
  const pages = createConsolePages(
    { token: session.openByToken, share: session.openByShareLink },
    uploads.origin,
  );
  const upload = async (ctx: Context) => {
    const { prefix } = await deps.partners.find(ctx.state.scope.partner);
    send(ctx, answer(201, await uploads.sign(prefix, validate(deps.bodies.upload, ctx.request.body))));
  };
  const open: [string, Handler][] = [
    ['/console', pages.home],
    ['/console/sign-in', pages.page],
    ['/console/sender', session.sender],
    ['/console/audiences', pages.page],
    ['/console/segments/:id', pages.segment],
    ['/console/imports', pages.page],
    ['/console/imports/:id', pages.record],
    ['/console/upload', pages.page],
    ['/console/webhooks', pages.page],
    ['/console/webhooks/:id', pages.record],
    ['/console/requests', pages.page],
    ['/console/requests/:id', pages.record],
    ['/console/new-request', pages.page],
    ['/console/assets/:name', pages.asset],
    ['/console/*path', pages.missing],
  ];
  return [
    { method: 'get', path: SESSION, access: 'user', scopes: ['read'], isShared: true, handler: session.get },
    {
      method: 'post',
      path: SESSION,
      access: 'console',
      scopes: [],
      body: { schema: deps.bodies.signIn },
      handler: session.create,
    },
    { method: 'delete', path: SESSION, access: 'console', scopes: [], handler: session.end },
    // One route per purpose, because a key may have only one of the scopes.
    ...(['import', 'audience'] as const).map(
      (scope): Route => ({
        method: 'post',
        path: `/console/uploads/${scope}`,
        access: 'partner',
        scopes: [scope],
        body: { schema: deps.bodies.upload },
        handler: upload,
      }),
    ),
    ...open.map(([path, handler]): Route => ({ method: 'get', path, access: 'public', scopes: [], handler })),
  ];
}
