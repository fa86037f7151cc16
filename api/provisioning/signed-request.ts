/** One HTTP request under AWS Signature 4: what the administration of storage takes, on AWS and on servers alike. */
import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';

export interface StorageCredentials {
  accessKeyId: string;
  secretAccessKey: string;
}

type Data = string | ArrayBuffer | ArrayBufferView;
const bytesOf = (data: Data): string | Uint8Array => {
  if (typeof data === 'string') return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
};

/** Node's hash in the form that the signer asks for. */
class Sha256 {
  readonly #hash;
  constructor(key?: Data) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(key));
  }
  update(data: Data): void {
    this.#hash.update(bytesOf(data));
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {}
}

export interface SignedRequest {
  method: string;
  url: URL;
  service: string;
  region: string;
  credentials: StorageCredentials;
  body?: string;
  headers?: Record<string, string>;
}

export class StorageRequestError extends Error {
  readonly code = 'storage_request_failed';
  constructor(
    readonly status: number,
    readonly answer: string,
  ) {
    super(`the storage answered ${status}: ${answer.replace(/\s+/g, ' ').slice(0, 300)}`);
  }
}

export type SendSigned = (request: SignedRequest) => Promise<string>;

export const sendSigned: SendSigned = async (request) => {
  const { method, url, body = '', service, region, credentials } = request;
  const signer = new SignatureV4({
    credentials,
    region,
    service,
    sha256: Sha256,
    uriEscapePath: service !== 's3',
  });
  const signed = await signer.sign({
    method,
    protocol: url.protocol,
    hostname: url.hostname,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: {
      host: url.host,
      'x-amz-content-sha256': createHash('sha256').update(body).digest('hex'),
      ...request.headers,
    },
    body,
  });
  const { host: _, ...headers } = signed.headers;
  const response = await fetch(url, {
    method,
    headers,
    ...(body === '' ? {} : { body }),
    signal: AbortSignal.timeout(20_000),
  });
  const answer = await response.text();
  if (!response.ok) throw new StorageRequestError(response.status, answer);
  return answer;
};
