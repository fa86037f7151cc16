/** Builds the API from what it needs; server.ts listens. */
import Router from '@koa/router';
import Koa from 'koa';
import type { Context, Dependencies, Middleware, RequestState } from './context.ts';
import { createAnswerProblems } from './middleware/answer-problems.ts';
import { createAuthenticate, createAuthenticateUser, createKeyLookup } from './middleware/authenticate.ts';
import { createLimitRate } from './middleware/limit-rate.ts';
import { createLimitTime } from './middleware/limit-time.ts';
import { createObserveRequests } from './middleware/observe-requests.ts';
import { createReadBody } from './middleware/read-body.ts';
import { notFound, Problem } from './problem.ts';
import { createRoutes, type Route } from './routes/table.ts';
import { createVerifyUserToken } from './user-tokens.ts';

export interface App {
  koa: Koa<RequestState>;
  routes: Route[];
}

export function createApp(deps: Dependencies): App {
  const { config, db, log, metrics } = deps;
  const limitTime = createLimitTime(config.limitBackendMs);
  const partner = [
    createAuthenticate(config.secret, createKeyLookup(db)),
    createLimitRate(config.ratePerSecond, config.rateBurst),
  ];
  const access: Record<Route['access'], Middleware[]> = {
    public: [limitTime],
    partner: [limitTime, ...partner],
    user: [limitTime, ...partner, createAuthenticateUser(createVerifyUserToken(config))],
  };
  const body = {
    required: createReadBody(config),
    optional: createReadBody(config, { optional: true }),
  };

  const router = new Router<RequestState>({ sensitive: true });
  const routes = createRoutes(deps);
  for (const { method, path, ...route } of routes) {
    const named: Middleware = (ctx, next) => {
      ctx.state.route = path;
      return next();
    };
    const steps = [named, ...access[route.access], ...(route.body ? [body[route.body]] : []), route.handler];
    router[method](path, ...(steps as Parameters<typeof router.get>[1][]));
  }

  const koa = new Koa<RequestState>();
  koa.use(createObserveRequests(log, metrics) as Koa.Middleware<RequestState>);
  koa.use(createAnswerProblems(log) as Koa.Middleware<RequestState>);
  koa.use(router.routes() as unknown as Koa.Middleware<RequestState>);
  koa.use(((ctx: Context) => answerUnrouted(router, ctx)) as unknown as Koa.Middleware<RequestState>);
  // Streams that fail after their head was sent end here: the client sees a cut answer, the log sees why.
  koa.on('error', (error: unknown, ctx?: Context) =>
    log.warn({ request_id: ctx?.state.requestId, err: error }, 'answer cut off'),
  );
  return { koa, routes };
}

/** No route took it: the address is unknown (404), or known with other methods (405; OPTIONS just tells them). */
function answerUnrouted(router: Router<RequestState>, ctx: Context): void {
  const methods = new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods));
  if (methods.size === 0) throw notFound();
  const allow = [...methods, 'OPTIONS'].sort().join(', ');
  if (ctx.method !== 'OPTIONS')
    throw new Problem('method_not_allowed', `This address allows ${allow}.`, { headers: { Allow: allow } });
  ctx.set('Allow', allow);
  ctx.status = 204;
}
