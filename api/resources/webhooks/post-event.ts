/** One POST to a receiver: to a checked address, without redirects, with a timeout, reading little of the response. */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import packageJson from '../../../package.json' with { type: 'json' };
import { linkedAbort, withDeadline } from '../../../pipeline/runtime/deadline.ts';
import type { SignedHeaders } from '../../../pipeline/runtime/sign-event.ts';
import { type createResolve, hostOf } from './public-addresses.ts';

export type PostEvent = ReturnType<typeof createPostEvent>;

/** Read so that the receiver can finish writing its answer. */
const MAX_ANSWER_BYTES = 16_384;

async function readSome(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_ANSWER_BYTES) return;
  }
}

export function createPostEvent(resolve: ReturnType<typeof createResolve>, timeoutMs: number) {
  /** Resolves to the response status. Rejects if there is no response. */
  return async (url: URL, headers: SignedHeaders, body: string, signal: AbortSignal): Promise<number> => {
    const { address } = await withDeadline(timeoutMs, resolve(url));
    const host = hostOf(url);
    const isTls = url.protocol === 'https:';
    const { controller, unlink } = linkedAbort(signal);
    const late = new Error(`no answer within ${timeoutMs} ms`);
    const timer = setTimeout(() => controller.abort(late), timeoutMs);
    try {
      return await new Promise<number>((fulfil, reject) => {
        const request = (isTls ? requestHttps : requestHttp)({
          // The checked address, because a name would be resolved again.
          host: address,
          port: url.port || (isTls ? 443 : 80),
          ...(isTls && isIP(host) === 0 ? { servername: host } : {}),
          path: url.pathname + url.search,
          method: 'POST',
          agent: false,
          signal: controller.signal,
          headers: {
            host: url.host,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            'user-agent': `headrace/${packageJson.version}`,
            ...headers,
          },
        });
        request.on('error', (error) => reject(controller.signal.aborted ? controller.signal.reason : error));
        let isAnswered = false;
        // The connection ended without an error, for example because the receiver wants to upgrade it.
        request.on('close', () => isAnswered || reject(new Error('the connection was closed')));
        request.once('response', (answer) => {
          isAnswered = true;
          // Only the status matters: ignore errors in the body.
          const done = () => {
            request.destroy();
            fulfil(answer.statusCode!);
          };
          readSome(answer).then(done, done);
        });
        request.end(body);
      });
    } finally {
      clearTimeout(timer);
      unlink();
    }
  };
}
