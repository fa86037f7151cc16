/** An internal error: the client gets the request id and nothing else. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { createApp } from '../../api/app.ts';
import { createMetrics } from '../../api/http/metrics.ts';
import type { Dependencies } from '../../api/resources/shared.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { parseConfig } from '../../schemas/config.ts';
import { createBodies } from '../../schemas/http.ts';
import { problem } from '../../schemas/http-answers.ts';
import { readConfigFile } from '../support/env-file.ts';

it('500 with a problem, no stack, no name of a part; the log has the rest', async () => {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const config = parseConfig(readConfigFile('minimal.env'));
  const apiKeys = {
    find() {
      throw new TypeError('secretPart.of undefined at MongoThing');
    },
  };
  const koa = createApp({
    config,
    apiKeys,
    bodies: createBodies({ pathBytes: 1_024, keys: 10 }),
    metrics: createMetrics(),
    log: createLogger({ logLevel: 'info' }, 'test', sink),
  } as unknown as Dependencies);
  const server = createServer(koa.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/v1/marketplace/import`, {
      headers: { authorization: `Bearer hr_abcdefgh_${'A'.repeat(43)}`, 'x-request-id': 'the-one' },
    });
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(problem.parse(JSON.parse(text))).toMatchObject({ code: 'internal', instance: 'the-one' });
    expect(text).not.toMatch(/secretPart|Mongo|TypeError|\.ts/);
    const logged = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 'error');
    expect(logged).toMatchObject({ request_id: 'the-one', err: { type: 'TypeError' } });
  } finally {
    server.close();
  }
});
