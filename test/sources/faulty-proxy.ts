/** An HTTP proxy before the real storage that breaks responses on demand. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The fault of one request; requests without one pass. */
export type Fault =
  | { kind: 'pass' }
  | { kind: 'status'; status: number; code: string }
  | { kind: 'reset' }
  | { kind: 'silence' }
  /** Responses that no storage gives: no HTTP at all, a web page, or an error that is not XML. */
  | { kind: 'garbage'; as: 'bytes' | 'page' | 'error' }
  /** Each value is a separate header line of the response. */
  | { kind: 'headers'; headers: Record<string, string[]> }
  /** Sends the body in pieces of `bytes`, one at a time. */
  | { kind: 'trickle'; bytes: number; everyMs: number }
  /** After this many bytes of the body, cuts the connection or sends nothing more. */
  | { kind: 'cut' | 'stall'; after: number };

export interface SeenRequest {
  method: string;
  path: string;
  range: string | undefined;
}

export interface FaultyProxy {
  endpoint: string;
  seen: SeenRequest[];
  /** For the next requests, one each, in order. */
  faults: Fault[];
  /** Applied to every request, before `faults`. */
  rules: Set<(request: SeenRequest) => Fault | undefined>;
  /** Delivers the first bytes of the object and stalls, until it is released. */
  stall(key: string, after: number): Stalled;
  close(): Promise<void>;
}

export interface Stalled {
  isRead(): boolean;
  letGo(): void;
}

function answerGarbage(outgoing: ServerResponse, as: 'bytes' | 'page' | 'error'): void {
  if (as === 'bytes') {
    outgoing.socket?.end('\u0000\u0001 this is no HTTP \u0002\r\n\r\n');
    return;
  }
  outgoing.writeHead(as === 'page' ? 200 : 400, { 'content-type': 'text/html' });
  outgoing.end('<!doctype html><html><body>It works!<br></body>');
}

async function trickle(
  body: AsyncIterable<Buffer>,
  outgoing: ServerResponse,
  { bytes, everyMs }: { bytes: number; everyMs: number },
): Promise<void> {
  for await (const chunk of body)
    for (let at = 0; at < chunk.length && !outgoing.destroyed; at += bytes) {
      outgoing.write(chunk.subarray(at, at + bytes));
      await sleep(everyMs);
    }
  outgoing.end();
}

/** A function if the storage starts after the proxy. */
export async function startFaultyProxy(target: string | (() => string)): Promise<FaultyProxy> {
  const seen: SeenRequest[] = [];
  const faults: Fault[] = [];
  const rules: FaultyProxy['rules'] = new Set();

  const forward = (incoming: IncomingMessage, outgoing: ServerResponse, fault: Fault) => {
    const { hostname, port } = new URL(typeof target === 'string' ? target : target());
    // Headers pass unchanged, including the host, which the client has signed.
    const options = {
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: incoming.headers,
      agent: false,
    };
    const upstream = request(options, async (answer) => {
      const odd = fault.kind === 'headers' ? fault.headers : {};
      outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...odd });
      if (fault.kind === 'trickle') return trickle(answer, outgoing, fault);
      if (fault.kind !== 'cut' && fault.kind !== 'stall') {
        answer.pipe(outgoing);
        return;
      }
      let left = fault.after;
      outgoing.flushHeaders();
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        outgoing.write(chunk.subarray(0, left));
        left -= Math.min(left, chunk.length);
        if (left === 0) break;
      }
      if (fault.kind === 'cut') outgoing.write('', () => outgoing.socket?.end());
    });
    upstream.on('error', () => outgoing.destroy());
    incoming.pipe(upstream);
  };

  const faultOf = (request: SeenRequest): Fault => {
    for (const rule of rules) {
      const fault = rule(request);
      if (fault) return fault;
    }
    return faults.shift() ?? { kind: 'pass' };
  };

  const server = createServer((incoming, outgoing) => {
    const request = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      range: incoming.headers.range,
    };
    seen.push(request);
    const fault = faultOf(request);
    if (fault.kind === 'reset') incoming.socket.resetAndDestroy();
    else if (fault.kind === 'garbage') answerGarbage(outgoing, fault.as);
    else if (fault.kind === 'status') {
      const xml = `<?xml version="1.0"?><Error><Code>${fault.code}</Code><Message>made up</Message></Error>`;
      outgoing.writeHead(fault.status, { 'content-type': 'application/xml' });
      outgoing.end(incoming.method === 'HEAD' ? undefined : xml);
    } else if (fault.kind !== 'silence') forward(incoming, outgoing, fault);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stall = (key: string, after: number): Stalled => {
    let reads = 0;
    const rule = ({ method, path, range }: SeenRequest): Fault | undefined => {
      if (method !== 'GET' || !path.includes(`/${key}`)) return undefined;
      reads++;
      const from = Number(/^bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0);
      return { kind: 'stall', after: Math.max(0, after - from) };
    };
    rules.add(rule);
    return { isRead: () => reads > 0, letGo: () => void rules.delete(rule) };
  };
  return {
    stall,
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    faults,
    rules,
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}
