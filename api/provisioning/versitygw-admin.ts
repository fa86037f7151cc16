/** Manages versitygw's users through its admin API; requests are signed like S3 requests. */
import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import type { StorageCredentials } from '../../pipeline/sources/credentials.ts';

interface AdminOptions {
  endpoint: string;
  region: string;
  credentials: StorageCredentials;
}

export function createVersitygwAdmin({ endpoint, region, credentials }: AdminOptions) {
  const signer = new SignatureV4({
    credentials,
    region,
    service: 's3',
    sha256: Sha256,
    uriEscapePath: false,
  });

  async function send(path: string, body = ''): Promise<void> {
    const url = new URL(path, endpoint);
    const method = 'PATCH';
    const signed = await signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { host: url.host },
      body,
    });
    const { host: _, ...headers } = signed.headers;
    const signal = AbortSignal.timeout(20_000);
    const response = await fetch(url, { method, headers, body: body || null, signal });
    if (response.ok) return;
    const answer = (await response.text()).replace(/\s+/g, ' ').slice(0, 300);
    throw new Error(`the storage answered ${response.status}: ${answer}`);
  }

  return {
    createUser: ({ accessKeyId, secretAccessKey }: StorageCredentials) =>
      send(
        '/create-user',
        `<Account><Access>${accessKeyId}</Access><Secret>${secretAccessKey}</Secret><Role>user</Role></Account>`,
      ),
    deleteUser: (accessKeyId: string) => send(`/delete-user?access=${encodeURIComponent(accessKeyId)}`),
  };
}
