/** Takes a port, like another program. Returns how to free it. */
import { once } from 'node:events';
import { createServer } from 'node:net';

export async function takePort(port: number): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return () => new Promise((resolve) => server.close(() => resolve()));
}
