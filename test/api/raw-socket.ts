/** Sends bytes verbatim, at the moments that a test chooses, which fetch cannot. */
import { connect, type Socket } from 'node:net';

export interface RawConnection {
  socket: Socket;
  send(bytes: string): void;
  /** Everything received until the connection was closed. */
  closed: Promise<string>;
}

export async function openRaw(url: string, localAddress?: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, ...(localAddress ? { localAddress } : {}) });
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  // A server may reset a connection whose remaining request it does not want; what it sent before counts.
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  await new Promise((resolve) => {
    socket.once('connect', resolve);
    socket.once('close', resolve);
  });
  return { socket, send: (bytes) => void socket.write(bytes), closed };
}

export const rawRequest = (method: string, path: string, key: string, headers: string[], body = '') =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${key}`,
    'Connection: close',
    ...headers,
    '',
    body,
  ].join('\r\n');
