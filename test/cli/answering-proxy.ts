/** An HTTP proxy before the API that records every request and can drop a response. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AnsweringProxy {
  url: string;
  /** `POST /v1/marketplace/import`, in order. */
  seen: string[];
  /** Drops the next `count` successful responses to this method: the API has done the work, and the client does not know. */
  lose(method: string, count: number): void;
  /** Truncates the response of the next successful request whose path ends like this, and leaves the connection open. */
  breakOff(path: string): void;
  close(): Promise<void>;
}

export async function startAnsweringProxy(target: string): Promise<AnsweringProxy> {
  const seen: string[] = [];
  let breaking = '';
  const losing = new Map<string, number>();
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming;
    seen.push(`${method} ${url}`);
    const onward = request(target + url, { method, headers }, (answer) => {
      const left = losing.get(method) ?? 0;
      if (left > 0 && answer.statusCode! < 300) {
        losing.set(method, left - 1);
        return void answer.resume().once('end', () => incoming.socket.destroy());
      }
      outgoing.writeHead(answer.statusCode!, answer.headers);
      if (breaking !== '' && url.endsWith(breaking) && answer.statusCode! < 300) {
        breaking = '';
        return void answer.once('data', (chunk) =>
          outgoing.write(chunk.subarray(0, 1), () => incoming.socket.destroy()),
        );
      }
      answer.pipe(outgoing);
    });
    onward.on('error', () => incoming.socket.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    lose: (method, count) => void losing.set(method, count),
    breakOff(path) {
      breaking = path;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
