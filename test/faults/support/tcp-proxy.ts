/** A TCP proxy before a server that can be cut: open connections close at once, and new ones are refused until it is joined again. */
import { connect, createServer, type Socket } from 'node:net';
import { anyFreePort } from '../../../deploy/local/ports.ts';

export interface TcpProxy {
  readonly port: number;
  cut(): void;
  join(): void;
  close(): Promise<void>;
}

/** The target is resolved for each connection, because it may not be known yet when the proxy starts. */
export async function startTcpProxy(target: () => number): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket, other: () => Socket | undefined) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      open.delete(socket);
      other()?.destroy();
    });
  };
  const server = createServer({ noDelay: true }, (incoming) => {
    if (isCut) return void incoming.resetAndDestroy();
    const outgoing = connect({ port: target(), host: '127.0.0.1', noDelay: true });
    keep(incoming, () => outgoing);
    keep(outgoing, () => incoming);
    // Reset, like a dead server without a proxy: after an orderly close kafkajs does not try the next broker.
    outgoing.on('error', () => incoming.resetAndDestroy());
    incoming.pipe(outgoing);
    outgoing.pipe(incoming);
  });
  const port = await anyFreePort();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const endAll = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    port,
    cut() {
      isCut = true;
      endAll();
    },
    join() {
      isCut = false;
    },
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      endAll();
      return closed;
    },
  };
}
