/** Builds the API from its dependencies; server.ts listens. */
import Router from '@koa/router';
import Koa from 'koa';
import { createAuthenticate, createAuthenticateUser } from './auth/authenticate.ts';
import { createKeyCheck } from './auth/check-key.ts';
import { createKnownTokenKeys } from './auth/known.ts';
import { createGuessLimit } from './auth/limit-guesses.ts';
import { createSessions, requireConsole } from './auth/sessions.ts';
import { createSignIn } from './auth/sign-in.ts';
import { createVerifyUserToken } from './auth/user-tokens.ts';
import { createAnswerProblems } from './http/answer-problems.ts';
import { send } from './http/change.ts';
import { type Context, countHeader, type Handler, type RequestState } from './http/context.ts';
import { createLimitRate } from './http/limit-rate.ts';
import { createLimitTime, stopIfGivenUp } from './http/limit-time.ts';
import { createObserveRequests } from './http/observe-requests.ts';
import type { Route } from './http/operation.ts';
import { createPublicAddress } from './http/pages.ts';
import { notFound, Problem } from './http/problem.ts';
import { createReadBody } from './http/read-body.ts';
import { isRegistryPath, readOnly } from './http/registry-problem.ts';
import { tagAnswer } from './http/tag-answer.ts';
import { checkQuery } from './http/validate.ts';
import { createCarryOut } from './jobs/idempotent.ts';
import { createConsoleRoutes } from './resources/console/console-routes.ts';
import { createOperations } from './resources/operations.ts';
import type { Dependencies } from './resources/shared.ts';

/** `…/events` also looks like an id: the router takes the first path that matches, so a name comes before a parameter. */
function bySpecificity(routes: Route[]): Route[] {
  const kinds = ({ path }: Route) =>
    path
      .split('/')
      .map((part) => (part.startsWith('*') ? 2 : part.startsWith(':') ? 1 : 0))
      .join('');
  return routes.toSorted((a, b) => (kinds(a) < kinds(b) ? -1 : kinds(a) > kinds(b) ? 1 : 0));
}

export function createApp(deps: Dependencies): Koa<RequestState> {
  const { config, apiKeys, knownPartners, log, metrics } = deps;
  const limitTime = createLimitTime(config.limitBackendMs);
  const guesses = createGuessLimit(config);
  const keys = createKeyCheck(config, apiKeys, guesses, knownPartners);
  const tokenKeys = createKnownTokenKeys(deps.tokenKeys, config);
  const sessions = createSessions({ ...deps, keys, tokenKeys });
  const verify = createVerifyUserToken(config, tokenKeys);
  const signIn = createSignIn({ ...deps, keys, verify, guesses });

  const authenticate = createAuthenticate(keys, sessions);
  const limitRate = createLimitRate(config.ratePerSecond, config.ratePerSecond * config.rateBurstSeconds);
  const authenticateUser = createAuthenticateUser(verify, tokenKeys);
  const checksOf = (route: Route): Handler[] =>
    ({
      public: [],
      console: [requireConsole],
      partner: [authenticate(route), limitRate],
      user: [authenticate(route), limitRate, authenticateUser],
    })[route.access];
  const carryOut = createCarryOut(deps);

  /** Authentication, query, body, handler. The time limit covers our own work, not the time that the client takes to send the body. */
  function answer(route: Route): Handler {
    const checks = checksOf(route);
    const readBody =
      route.body &&
      createReadBody(config, { optional: route.body.optional, limitBytes: route.body.maxBytes });
    const isPublic = route.access === 'public';
    const parameters = Object.keys(route.query?.shape ?? {});
    const check = async (ctx: Context) => {
      for (const one of checks) await one(ctx);
      if (!isPublic) checkQuery(ctx, parameters);
    };
    const handle =
      'handler' in route
        ? async (ctx: Context) => route.handler(ctx)
        : async (ctx: Context) => send(ctx, await carryOut(ctx, await route.prepare(ctx)));
    const checkAndHandle = async (ctx: Context) => {
      await check(ctx);
      stopIfGivenUp(ctx);
      await handle(ctx);
    };
    return async (ctx) => {
      ctx.state.route = route.path;
      if (readBody) {
        await limitTime(ctx, check);
        await readBody(ctx);
        await limitTime(ctx, handle);
      } else await limitTime(ctx, checkAndHandle);
      if (!isPublic && route.method === 'get') tagAnswer(ctx);
    };
  }

  const router = new Router<RequestState>({ sensitive: true });
  const routes = [...createOperations(deps), ...createConsoleRoutes(deps, { sessions, signIn })];
  const exact = new Map<string, Handler>();
  for (const route of bySpecificity(routes)) {
    const handler = answer(route);
    router[route.method](route.path, handler as Parameters<typeof router.get>[1]);
    if (!route.path.includes(':')) exact.set(`${route.method.toUpperCase()} ${route.path}`, handler);
  }

  const koa = new Koa<RequestState>({
    proxy: config.trustedProxies > 0,
    maxIpsCount: config.trustedProxies,
  });
  koa.use(createObserveRequests(log, metrics, deps.tracer) as Koa.Middleware<RequestState>);
  koa.use(createAnswerProblems(log) as Koa.Middleware<RequestState>);
  // Bypasses the router for busy paths: trying every pattern costs more than the handler.
  const addressOf = createPublicAddress(config);
  koa.use(((ctx: Context, next: () => Promise<void>) => {
    ctx.state.addressOf = addressOf;
    requireOneHost(ctx);
    const handler = exact.get(`${ctx.method} ${ctx.path}`);
    return handler ? handler(ctx) : next();
  }) as unknown as Koa.Middleware<RequestState>);
  koa.use(router.routes() as unknown as Koa.Middleware<RequestState>);
  koa.use(((ctx: Context) => answerUnrouted(router, ctx)) as unknown as Koa.Middleware<RequestState>);
  // Streams that fail after the headers were sent end here: the client gets a truncated response, the log has the cause.
  koa.on('error', (error: unknown, ctx?: Context) =>
    log.warn({ request_id: ctx?.state.requestId, err: error }, 'response truncated'),
  );
  return koa;
}

function requireOneHost(ctx: Context): void {
  if (countHeader(ctx, 'host') > 1)
    throw new Problem('bad_request', 'The request has more than one Host header.');
}

/** No route matched: the path is unknown (404), or exists with other methods only (405; OPTIONS lists them). */
function answerUnrouted(router: Router<RequestState>, ctx: Context): void {
  if (isRegistryPath(ctx.path) && ['POST', 'PUT', 'DELETE'].includes(ctx.method)) throw readOnly();
  const matching = router.match(ctx.path, ctx.method).path;
  // `…/events` also looks like an id; the route that comes first is the one that answers.
  const own = matching.filter(({ path }) => path === matching[0]!.path);
  const methods = new Set(own.flatMap((layer) => layer.methods));
  if (methods.size === 0) throw notFound();
  const allow = [...methods, 'OPTIONS'].sort().join(', ');
  if (ctx.method !== 'OPTIONS')
    throw new Problem('method_not_allowed', `This resource supports ${allow}.`, {
      headers: { Allow: allow },
    });
  ctx.set('Allow', allow);
  ctx.status = 204;
}
