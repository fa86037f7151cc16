/**
 * Reads a JSON body with koa-body and answers by the book when it is not one: 415 before a byte is read, 413 beyond the
 * limit, 408 when it does not arrive in time, 400 for what is not JSON, 422 for what is JSON and yet not to be had.
 */
import { once } from 'node:events';
import type { Context as KoaContext } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import type { Config } from '../../schemas/config.ts';
import type { Context, Handler } from '../context.ts';
import { Problem } from '../problem.ts';

const jsonType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i;

const hasBody = (ctx: Context) =>
  ctx.req.headers['transfer-encoding'] !== undefined || Number(ctx.req.headers['content-length'] ?? 0) > 0;

/** Whether a body of untold length has no byte. */
async function isEmpty({ req }: Context): Promise<boolean> {
  if (req.headers['transfer-encoding'] === undefined) return false;
  if (req.readableLength === 0 && !req.complete)
    await once(req, 'readable').catch(() => {
      throw new Problem('bad_request', 'The body was cut short.');
    });
  return req.readableLength === 0 && req.complete;
}

/** Never with the cause: co-body hangs the whole body on its errors, secrets included. */
function bodyProblem(error: Error & { status?: number; type?: string }): Problem {
  const close = { headers: { Connection: 'close' } };
  if (error.status === 413) return new Problem('body_too_large', 'The body is over the limit.', close);
  if (error.status === 415)
    return new Problem('unsupported_media_type', 'The content encoding is not supported.', close);
  if (/forbidden prototype property/.test(error.message))
    return new Problem('invalid_body', '__proto__ is not a known field.', {
      errors: [{ path: '__proto__', message: 'is not a known field' }],
    });
  if (error instanceof RangeError) return new Problem('too_deep', 'The body is nested too deeply.');
  return new Problem('bad_json', 'The body could not be read as JSON.', close);
}

export function exceedsDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  return Object.values(value).some((member) => exceedsDepth(member, depth - 1));
}

/** Counted from the beginning of the request: its head was under the same limit. */
async function inTime<T>(ctx: Context, limitMs: number, reading: Promise<T>): Promise<T> {
  if (ctx.req.complete) return reading;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const problem = new Problem('request_timeout', 'The body did not arrive in time. Nothing was queued.', {
      headers: { Connection: 'close' },
    });
    timer = setTimeout(() => reject(problem), ctx.state.begunAt + limitMs - performance.now());
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function createReadBody(
  config: Pick<Config, 'limitBodyBytes' | 'limitJsonDepth' | 'limitRequestMs'>,
  { optional = false } = {},
): Handler {
  const parse = koaBody({
    json: true,
    text: false,
    urlencoded: false,
    multipart: false,
    jsonTypes: ['application/json'],
    jsonLimit: config.limitBodyBytes,
    // Not strict: a lone number is JSON, and what is wrong with it is for the schema to say.
    jsonStrict: false,
    // DELETE is not among koa-body's own.
    parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
    onError(error: Error) {
      throw bodyProblem(error);
    },
  } as Parameters<typeof koaBody>[0]);
  const nothing = async () => {};

  return async (ctx) => {
    const reading = (work: Promise<unknown>) => inTime(ctx, config.limitRequestMs, work);
    if (!hasBody(ctx) || (optional && (await reading(isEmpty(ctx))))) {
      if (!optional) throw new Problem('bad_json', 'The request has no body.');
      ctx.request.body = {};
      return;
    }
    if (!jsonType.test(ctx.get('content-type')))
      throw new Problem('unsupported_media_type', 'Send Content-Type: application/json.', {
        headers: { Connection: 'close' },
      });
    await reading(parse(ctx as unknown as KoaContext, nothing));
    if (exceedsDepth(ctx.request.body, config.limitJsonDepth))
      throw new Problem('too_deep', `The body is nested more than ${config.limitJsonDepth} levels deep.`);
  };
}
