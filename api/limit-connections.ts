/** What a client may do to a connection: how many it may open, how long it may take to ask, how long to read nothing. */
import type { Server, ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../schemas/config.ts';
import { networkOf } from './client-network.ts';

/** Our own answer to a body that is late comes first: it is a proper one, and names the request. */
const AFTER_OURS_MS = 1_000;

export const timeoutsOf = (config: Pick<Config, 'limitRequestMs' | 'limitHeadersMs'>): ServerOptions => ({
  requestTimeout: config.limitRequestMs + AFTER_OURS_MS,
  headersTimeout: Math.min(config.limitHeadersMs, config.limitRequestMs),
  connectionsCheckingInterval: 500,
});

type Limits = Pick<
  Config,
  'limitConnections' | 'limitConnectionsPerAddress' | 'limitStallMs' | 'limitRequestMs' | 'trustedProxies'
>;

export function limitConnections(server: Server, config: Limits): void {
  server.maxConnections = config.limitConnections;
  // On a connection nothing moves while a body is awaited, too: that has its own limit and a better answer.
  server.setTimeout(Math.max(config.limitStallMs, config.limitRequestMs + 2 * AFTER_OURS_MS));
  // Behind proxies everybody comes from their addresses.
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
