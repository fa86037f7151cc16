/** Every request gets an id, a log line and a metrics observation, however it ends. */
import { randomUUID } from 'node:crypto';
import type { Logger } from '../../pipeline/runtime/log.ts';
import { noTracer, type Tracer, traceIdOf } from '../../pipeline/runtime/traces.ts';
import type { Context, Middleware } from './context.ts';
import type { Metrics } from './metrics.ts';

type Observer = ReturnType<Metrics['requests']['labels']>;
const MAX_SERIES = 1_000;
const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/** Only requests that may queue a job: the rest are too many, and metrics cover them. */
const isTraceable = ({ method }: Context) => method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';

export function createObserveRequests(log: Logger, metrics: Metrics, tracer: Tracer = noTracer): Middleware {
  const known = new Map<string, Observer>();
  const series = (method: string, route: string, status: number): Observer => {
    const name = `${method} ${route} ${status}`;
    const observer = known.get(name) ?? metrics.requests.labels(method, route, String(status));
    // Routes and statuses are few; the method is whatever the client sends.
    if (known.size < MAX_SERIES) known.set(name, observer);
    return observer;
  };

  return (ctx, next) => {
    const start = performance.now();
    ctx.state.begunAt = start;
    ctx.state.backendMs = 0;
    const given = ctx.get('x-request-id');
    ctx.state.requestId = acceptable.test(given) ? given : randomUUID();
    ctx.set('X-Request-Id', ctx.state.requestId);
    const began = Date.now();
    const span = isTraceable(ctx) ? tracer.begin(ctx.get('traceparent')) : undefined;
    if (span) ctx.state.traceparent = span.context;
    ctx.set('X-Content-Type-Options', 'nosniff');
    ctx.res.once('close', () => {
      const ms = performance.now() - start;
      const { scope, keyId, requestId, route } = ctx.state;
      const { method } = ctx;
      const status = ctx.res.statusCode;
      series(method, route ?? 'none', status).observe(ms / 1_000);
      if (span)
        tracer.record({
          name: `${method} ${route ?? 'none'}`,
          kind: 'server',
          ...span,
          start: began,
          end: began + ms,
          attributes: { 'http.response.status_code': status, request_id: requestId },
          failed: status >= 500,
        });
      // The path only: headers, query and body may contain secrets.
      log[route?.startsWith('/health/') ? 'debug' : 'info'](
        {
          request_id: requestId,
          method,
          path: ctx.path.slice(0, 300),
          status,
          ms: Math.round(ms * 10) / 10,
          ...(span ? { trace_id: traceIdOf(span.context) } : {}),
          ...(scope ? { partner: scope.partner, key: keyId } : {}),
          ...(scope?.customer ? { customer: scope.customer } : {}),
          ...(ctx.res.writableFinished ? {} : { cut_off: true }),
        },
        'request',
      );
    });
    return next();
  };
}
