/**
 * Reads a JSON body with koa-body: 415 for a wrong content type, before a byte is read; 413 above the size limit; 408 when the
 * body does not arrive in time; 400 for invalid JSON; 422 for JSON that is nested too deeply or names __proto__.
 */
import { once } from 'node:events';
import type { Context as KoaContext } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import type { Config } from '../../schemas/config.ts';
import type { Context, Handler } from './context.ts';
import { Problem } from './problem.ts';

const utf8 = ['utf-8', 'utf8', '"utf-8"', '"utf8"'];

/** Split, because a regular expression would backtrack on hostile headers. */
export function isJsonType(contentType: string): boolean {
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const isCharset = (parameter: string) => {
    const [name, value, ...more] = parameter.split('=').map((part) => part.trim());
    return name === 'charset' && utf8.includes(value ?? '') && more.length === 0;
  };
  return type === 'application/json' && parameters.every((one) => one === '' || isCharset(one));
}

const hasBody = (ctx: Context) =>
  ctx.req.headers['transfer-encoding'] !== undefined || Number(ctx.req.headers['content-length'] ?? 0) > 0;

/** Whether a chunked body, which has no Content-Length, is empty. */
async function isEmpty({ req }: Context): Promise<boolean> {
  if (req.headers['transfer-encoding'] === undefined) return false;
  if (req.readableLength === 0 && !req.complete)
    await once(req, 'readable').catch(() => {
      throw new Problem('bad_request', 'The body was truncated.');
    });
  return req.readableLength === 0 && req.complete;
}

/** Without the cause: co-body attaches the whole body to its errors, secrets included. */
function bodyProblem(error: Error & { status?: number; type?: string }): Problem {
  const close = { headers: { Connection: 'close' } };
  if (error.status === 413)
    return new Problem('body_too_large', 'The body is larger than the limit for this operation.', close);
  if (error.status === 415)
    return new Problem('unsupported_media_type', 'The content encoding is not supported.', close);
  if (/forbidden prototype property/.test(error.message))
    return new Problem('invalid_body', '__proto__ is not a known field.', {
      errors: [{ path: '__proto__', message: 'is not a known field' }],
    });
  if (error instanceof RangeError) return new Problem('too_deep', 'The body is nested too deeply.');
  return new Problem('bad_json', 'The body is not valid JSON.', close);
}

export function exceedsDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  return Object.values(value).some((member) => exceedsDepth(member, depth - 1));
}

/** The limit runs from the start of the request, its headers included. */
async function inTime<T>(ctx: Context, limitMs: number, reading: Promise<T>): Promise<T> {
  if (ctx.req.complete) return reading;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const giveUp = () =>
      reject(
        new Problem('request_timeout', 'The body did not arrive in time. Nothing was queued.', {
          headers: { Connection: 'close' },
        }),
      );
    timer = setTimeout(giveUp, ctx.state.begunAt + limitMs - performance.now());
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function createReadBody(
  config: Pick<Config, 'limitBodyBytes' | 'limitJsonDepth' | 'limitRequestMs'>,
  { optional = false, limitBytes = config.limitBodyBytes } = {},
): Handler {
  const parse = koaBody({
    json: true,
    text: false,
    urlencoded: false,
    multipart: false,
    jsonTypes: ['application/json'],
    jsonLimit: limitBytes,
    // Not strict: a bare number is valid JSON, and the schema's error is clearer.
    jsonStrict: false,
    // koa-body does not parse DELETE bodies by default.
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
    if (!isJsonType(ctx.get('content-type')))
      throw new Problem('unsupported_media_type', 'The Content-Type must be application/json.', {
        headers: { Connection: 'close' },
      });
    await reading(parse(ctx as unknown as KoaContext, nothing));
    if (exceedsDepth(ctx.request.body, config.limitJsonDepth))
      throw new Problem('too_deep', `The body is nested more than ${config.limitJsonDepth} levels deep.`);
  };
}
