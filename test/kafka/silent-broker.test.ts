import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createKafka } from '../../pipeline/kafka/topics.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { parseConfig } from '../../schemas/config.ts';
import { uniqueEnvironment } from '../support/stack.ts';

/** Like a frozen process: the kernel accepts connections, but there is no response. */
async function startSilentServer(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('a broker that takes connections and does not answer is passed over for the next of the list', async () => {
  const config = parseConfig(uniqueEnvironment());
  const kafkaBrokers = [await startSilentServer(), ...config.kafkaBrokers];
  const admin = createKafka(
    { ...config, kafkaBrokers },
    createLogger({ logLevel: 'silent' }, 'test'),
  ).admin();
  onTestFinished(() => admin.disconnect());
  await admin.connect();
  expect(await admin.listTopics()).toEqual(expect.any(Array));
});
