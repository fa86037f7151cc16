/** Connections: how many a client may open, how long it may take to send a request and stop reading, and what Node itself refuses. */
import type { Server, ServerOptions } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../schemas/config.ts';
import type { ProblemCode } from '../../schemas/problems.ts';
import { Problem } from './problem.ts';

/** Longer than load balancers keep idle connections (60 s is common): a request on a connection that we close is lost. */
const KEEP_ALIVE_MS = 75_000;

/** Our own 408 must come first: it is a proper problem response with the request id. */
const AFTER_OURS_MS = 1_000;

export const timeoutsOf = (config: Pick<Config, 'limitRequestMs' | 'limitHeadersMs'>): ServerOptions => ({
  requestTimeout: config.limitRequestMs + AFTER_OURS_MS,
  headersTimeout: Math.min(config.limitHeadersMs, config.limitRequestMs),
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionsCheckingInterval: 500,
});

/** A connection is also idle while we wait for a body or for a backend, which have limits and better responses of their own. */
export const idleMsOf = (
  config: Pick<Config, 'limitStallMs' | 'limitRequestMs' | 'limitBackendMs'>,
): number =>
  Math.max(config.limitStallMs, Math.max(config.limitRequestMs, config.limitBackendMs) + 2 * AFTER_OURS_MS);

type Limits = Pick<
  Config,
  | 'limitConnections'
  | 'limitConnectionsPerAddress'
  | 'limitStallMs'
  | 'limitRequestMs'
  | 'limitBackendMs'
  | 'trustedProxies'
>;

export function limitConnections(server: Server, config: Limits): void {
  server.maxConnections = config.limitConnections;
  server.setTimeout(idleMsOf(config));
  // Behind proxies, all clients share the proxies' addresses.
  if (config.trustedProxies > 0) return;
  const takePlace = createPlaces(config.limitConnectionsPerAddress);
  server.on('connection', (socket: Socket) => {
    const leave = takePlace(networkOf(socket.remoteAddress ?? ''));
    if (leave) socket.once('close', leave);
    else socket.destroy();
  });
}

/** Limits concurrent use by name. Taking a place returns the function that frees it, or undefined at the limit. */
export function createPlaces(max: number): (name: string) => (() => void) | undefined {
  const taken = new Map<string, number>();
  return (name) => {
    const count = taken.get(name) ?? 0;
    if (count >= max) return undefined;
    taken.set(name, count + 1);
    return () => {
      const left = taken.get(name)! - 1;
      if (left > 0) taken.set(name, left);
      else taken.delete(name);
    };
  };
}

/** The network that a client is counted under. An IPv6 client can use any address of its /64, so the /64 is counted. */
export function networkOf(address: string): string {
  if (isIP(address) === 0) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6
    ? parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')
    : parsed.toString();
}

const codes: Record<string, ProblemCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
};

/** Requests that never reach Koa: malformed, too slow or too large. */
export function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = new Problem(codes[error.code ?? ''] ?? 'bad_request', 'The request could not be read.');
  const body = problem.toBody('');
  socket.end(
    [
      `HTTP/1.1 ${problem.status} Error`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
