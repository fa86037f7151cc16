/** Third-party listeners for tests of secure connections; closed after the test. */
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { onTestFinished } from 'vitest';
import { signCertificate } from '../../deploy/local/certificates.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A listener with an expired certificate of our CA; no client gets past it. */
export async function listenExpired(authority: string): Promise<string> {
  const folder = temporaryFolder();
  cpSync(authority, folder, { recursive: true });
  await signCertificate(folder, { name: 'expired', subject: 'headrace-server', days: -1 });
  const pem = readFileSync(join(folder, 'expired.pem'));
  const server = createTlsServer({ key: pem, cert: pem });
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A token endpoint. */
export async function serveTokens(
  tokenFor: (authorization: string | undefined) => Promise<string | undefined>,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const token = await tokenFor(request.headers.authorization);
    response.writeHead(token ? 200 : 401, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(token ? { access_token: token, expires_in: 3_600 } : { error: 'invalid_client' }),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
}
