/** The one place where an error becomes a response. Only the text of a Problem reaches the client. */

import { isTransient } from '../../pipeline/engine/retry.ts';
import type { Logger } from '../../pipeline/runtime/log.ts';
import type { Middleware } from './context.ts';
import { Problem, unavailable } from './problem.ts';
import { isRegistryPath, REGISTRY_TYPE, RegistryProblem, registryBody } from './registry-problem.ts';

function toProblem(error: unknown): Problem | RegistryProblem {
  if (error instanceof Problem || error instanceof RegistryProblem) return error;
  if (isTransient(error)) return unavailable('A backend is unavailable. Retry shortly.', error);
  return new Problem('internal', 'The error was logged. Quote the request id when reporting it.', {
    cause: error,
  });
}

export function createAnswerProblems(log: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const problem = toProblem(error);
      if (problem.status >= 500 && problem.extra.isLogged !== false) {
        const level = problem.status === 503 ? 'warn' : 'error';
        log[level]({ request_id: ctx.state.requestId, err: problem.extra.cause ?? error }, 'request failed');
      }
      ctx.status = problem.status;
      ctx.set('Cache-Control', 'no-store');
      if (problem.extra.headers) ctx.set(problem.extra.headers);
      if (problem instanceof RegistryProblem || isRegistryPath(ctx.path)) {
        ctx.type = REGISTRY_TYPE;
        ctx.body = registryBody(problem);
      } else {
        ctx.type = 'application/problem+json';
        ctx.body = problem.toBody(ctx.state.requestId);
      }
    }
  };
}
