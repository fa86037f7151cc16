/** Every request gets an id, a line in the log and a place in the metrics, however it ends. */
import { randomUUID } from 'node:crypto';
import type { Logger } from '../../pipeline/runtime/log.ts';
import type { Middleware } from '../context.ts';
import type { Metrics } from '../metrics.ts';

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

export function createObserveRequests(log: Logger, metrics: Metrics): Middleware {
  return (ctx, next) => {
    const start = performance.now();
    const given = ctx.get('x-request-id');
    ctx.state.requestId = acceptable.test(given) ? given : randomUUID();
    ctx.set('X-Request-Id', ctx.state.requestId);
    ctx.res.once('close', () => {
      const ms = performance.now() - start;
      const { scope, keyId, requestId, route } = ctx.state;
      const { method } = ctx;
      const status = ctx.res.statusCode;
      metrics.requests.labels(method, route ?? 'none', String(status)).observe(ms / 1_000);
      // The path alone: neither headers nor query nor body, which may hold secrets.
      log.info(
        {
          request_id: requestId,
          method,
          path: ctx.path.slice(0, 300),
          status,
          ms: Math.round(ms * 10) / 10,
          ...(scope ? { partner: scope.partner, key: keyId } : {}),
          ...(ctx.res.writableFinished ? {} : { cut_off: true }),
        },
        'request',
      );
    });
    return next();
  };
}
