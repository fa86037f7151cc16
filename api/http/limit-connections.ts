/** Connection limits: how many a client may open, how long it may take to send a request, how long it may stop reading. */
import type { Server, ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../../schemas/config.ts';
import { networkOf } from './client-network.ts';

/** Our own 408 must come first: it is a proper problem response with the request id. */
const AFTER_OURS_MS = 1_000;

export const timeoutsOf = (config: Pick<Config, 'limitRequestMs' | 'limitHeadersMs'>): ServerOptions => ({
  requestTimeout: config.limitRequestMs + AFTER_OURS_MS,
  headersTimeout: Math.min(config.limitHeadersMs, config.limitRequestMs),
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
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const count = open.get(network) ?? 0;
    if (count >= config.limitConnectionsPerAddress) {
      socket.destroy();
      return;
    }
    open.set(network, count + 1);
    socket.once('close', () => {
      const left = open.get(network)! - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
  });
}
