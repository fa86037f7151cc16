/** A client's connections: how many it may open, and that it must read its responses. */
import { expect, it } from 'vitest';
import { collections } from '../../schemas/documents.ts';
import type { FileDocument } from '../../schemas/job-documents.ts';
import { waitFor } from '../support/wait-for.ts';
import { openRaw, type RawConnection, rawRequest } from './raw-socket.ts';
import { fileDocument, IMPORT, listFiles, logLines, startApiProcess } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const TOTAL = 24;
const PER_ADDRESS = 8;
const api = useApi(() =>
  startApiProcess({
    HEADRACE_TEST_LIMIT_CONNECTIONS: String(TOTAL),
    HEADRACE_TEST_LIMIT_CONNECTIONS_PER_ADDRESS: String(PER_ADDRESS),
    HEADRACE_TEST_LIMIT_HEADERS_MS: '60000',
  }),
);
const partner = usePartner(api);

/** A request whose connection stays open: idle connections are closed after some seconds. */
const stream = () => rawRequest('GET', `${IMPORT}/events`, partner.key, []);
/** Whether the connection is served: it gets a response. */
const isServed = (connection: RawConnection) =>
  Promise.race([
    new Promise<boolean>((resolve) =>
      connection.socket.once('data', (chunk) => resolve(`${chunk}`.startsWith('HTTP/1.1 200'))),
    ),
    connection.closed.then(() => false),
  ]);

async function openMany(count: number, address: string): Promise<{ served: number; close(): Promise<void> }> {
  const connections: RawConnection[] = [];
  let served = 0;
  for (let i = 0; i < count; i++) {
    const connection = await openRaw(api.service.apiUrl, address);
    connections.push(connection);
    const answered = isServed(connection);
    connection.send(stream());
    if (await answered) served++;
  }
  return {
    served,
    async close() {
      for (const { socket } of connections) socket.destroy();
      await Promise.all(connections.map(({ closed }) => closed));
    },
  };
}

it('one address has so many connections and no more; another is not held; all together have a limit, too', async () => {
  const greedy = await openMany(PER_ADDRESS + 4, '127.0.0.2');
  expect(greedy.served).toBe(PER_ADDRESS);
  const others = await openMany(PER_ADDRESS, '127.0.0.3');
  expect(others.served).toBe(PER_ADDRESS);
  const last = await openMany(PER_ADDRESS, '127.0.0.4');
  // The test's own connections count, too.
  expect(last.served).toBeLessThanOrEqual(TOTAL - 2 * PER_ADDRESS);
  const beyond = await openMany(PER_ADDRESS, '127.0.0.5');
  expect(last.served + beyond.served).toBeLessThanOrEqual(TOTAL - 2 * PER_ADDRESS);
  await Promise.all([greedy, others, last, beyond].map((each) => each.close()));
  const again = await waitFor(
    async () => {
      const { served, close } = await openMany(1, '127.0.0.2');
      await close();
      return served;
    },
    { what: 'a connection that is served again' },
  );
  expect(again).toBe(1);
});

it('a client that reads nothing of its answer is cut off', async () => {
  const id = await partner.queueImport();
  const job = await listFiles(api, id, []);
  // More than a connection's buffers hold.
  const name = 'a'.repeat(900);
  const documents = Array.from({ length: 15_000 }, (_, i) =>
    fileDocument(job, i, { path: `p-x/${name}${i}` }),
  );
  await api.db.collection<FileDocument>(collections.files).insertMany(documents, { ordered: false });
  // These limits close an idle connection after seven seconds.
  await api.service.restart('api', {
    HEADRACE_TEST_LIMIT_REQUEST_MS: '5000',
    HEADRACE_TEST_LIMIT_STALL_MS: '5000',
    HEADRACE_LIMIT_BACKEND_MS: '5000',
  });
  let tries = 0;
  const answered = async () => {
    const name = `does-not-read-${++tries}`;
    const connection = await openRaw(api.service.apiUrl);
    connection.socket.pause();
    connection.send(rawRequest('GET', `${IMPORT}/${id}/files`, partner.key, [`X-Request-Id: ${name}`]));
    const [line] = (await logLines(api.service, name)) as [string];
    connection.socket.destroy();
    const logged = JSON.parse(line);
    return logged.status === 200 && logged;
  };
  // A starved API answers 503.
  expect(await waitFor(answered, { what: 'an answer that is not read' })).toMatchObject({ cut_off: true });
});
