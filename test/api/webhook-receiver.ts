/** A real webhook receiver: records its requests and answers as configured. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { waitFor } from '../support/wait-for.ts';
import type { Call, Reply } from './support.ts';

export interface Received {
  id: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: an event that a test is about to look into
  event: any;
}

/** A status, with a Location for a redirect; or no response at all. */
type ReceiverResponse = number | { status: number; location: string } | 'nothing';
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Verifies the signature as Standard Webhooks defines it, independently of the code under test. */
export async function isSigned({ headers, body }: Received, secret: string): Promise<boolean[]> {
  const encoder = new TextEncoder();
  const raw = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', raw, hmac, false, ['verify']);
  const signed = encoder.encode(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  const given = String(headers['webhook-signature']).split(' ');
  return Promise.all(
    given.map((one) =>
      crypto.subtle.verify('HMAC', key, Buffer.from(one.replace(/^v1,/, ''), 'base64'), signed),
    ),
  );
}

/** The delivery at this path once it was attempted. */
export const attempted = (call: Call, path: string): Promise<Reply['json']> =>
  waitFor(
    async () => {
      const { json } = await call('GET', path);
      return json.tries > 0 ? json : undefined;
    },
    { what: 'an attempt' },
  );

/** Serves https if given a certificate and its key. */
export async function startReceiver({ host = '127.0.0.1', pem }: { host?: string; pem?: string } = {}) {
  const received: Received[] = [];
  let answer: (got: Received) => ReceiverResponse = () => 204;
  const listener: RequestListener = (request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const id = String(request.headers['webhook-id']);
      const got = { id, path: request.url!, headers: request.headers, body, event: JSON.parse(body) };
      received.push(got);
      const given = answer(got);
      if (given === 'nothing') return;
      if (typeof given === 'number') response.writeHead(given).end();
      else response.writeHead(given.status, { location: given.location }).end();
    });
  };
  const server = pem ? createTlsServer({ key: pem, cert: pem }, listener) : createServer(listener);
  let isDown = false;
  server.on('connection', (socket) => void (isDown && socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    url: `${pem ? 'https' : 'http'}://${host}:${address.port}`,
    received,
    answerWith(next: ReceiverResponse | ((got: Received) => ReceiverResponse)): void {
      answer = typeof next === 'function' ? next : () => next;
    },
    /** While down, it closes connections at once. */
    setDown(down: boolean): void {
      isDown = down;
    },
    /** Waits until a path has received this many requests. */
    got: (path: string, count: number): Promise<Received[]> =>
      waitFor(
        () => {
          const matching = received.filter((one) => one.path === path);
          return matching.length >= count ? matching : null;
        },
        { what: `${count} events at ${path}` },
      ),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
