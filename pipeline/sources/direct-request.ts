/**
 * Signed requests for objects without the S3 client's middleware, which takes several times as much CPU as the request: thousands of tiny
 * files would block the thread. The client's own successful requests show where a bucket is and how to sign; until then, and for every
 * response that may be final and is not a success, the client sends the request, because it knows the rules and the errors.
 */
import { type IncomingMessage, type Agent as PlainAgent, request as requestPlain } from 'node:http';
import { request as requestSecure, type Agent as SecureAgent } from 'node:https';
import type { S3Client } from '@aws-sdk/client-s3';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import { StoreUnavailable } from './store-errors.ts';

export interface Agents {
  httpAgent: PlainAgent;
  httpsAgent: SecureAgent;
}

interface ObjectRequest {
  method: 'GET' | 'HEAD';
  bucket: string;
  key: string;
  headers?: Record<string, string>;
}

export type DirectRequest = (
  wanted: ObjectRequest,
  abort: { abortSignal: AbortSignal },
) => Promise<IncomingMessage | undefined>;

/** How to reach the objects of a bucket. */
interface Route {
  origin: Pick<HttpRequest, 'protocol' | 'hostname' | 'port'>;
  /** Before the key. */
  path: string;
  host: string;
  signer: SignatureV4;
}

const UNSIGNED = { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' };
const CREDENTIAL = /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d+\/([^/]+)\/s3\/aws4_request/;

const encoded = (key: string) =>
  key
    .split('/')
    .map((part) => encodeURIComponent(part).replaceAll(/[!'()*]/g, hexOf))
    .join('/');
const hexOf = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

export function createDirectRequest(s3: S3Client, agents: Agents): DirectRequest {
  const routes = new Map<string, Route>();
  const { credentials, sha256 } = s3.config;

  function learn(bucket: string, key: string, { headers, ...request }: HttpRequest): void {
    const [, region] = CREDENTIAL.exec(headers.authorization ?? '') ?? [];
    const { protocol, hostname, port, path } = request;
    if (!region || !headers.host || !path.endsWith(encoded(key))) return;
    routes.set(bucket, {
      origin: { protocol, hostname, ...(port ? { port } : {}) },
      path: path.slice(0, -encoded(key).length),
      host: headers.host,
      signer: new SignatureV4({ service: 's3', region, credentials, sha256, uriEscapePath: false }),
    });
  }

  s3.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { Bucket, Key } = args.input as { Bucket?: string; Key?: string };
      if (Bucket && Key) learn(Bucket, Key, args.request as HttpRequest);
      return result;
    },
    { name: 'learnRoutes', step: 'deserialize', priority: 'high' },
  );

  /** Undefined: ask the client. */
  return async ({ method, bucket, key, headers = {} }, { abortSignal: signal }) => {
    const route = routes.get(bucket);
    if (!route) return undefined;
    const { origin, host, path, signer } = route;
    const plain = new HttpRequest({
      ...origin,
      method,
      path: path + encoded(key),
      headers: { host, ...UNSIGNED, ...headers },
    });
    const signingDate = new Date(Date.now() + s3.config.systemClockOffset);
    const signed = await signer.sign(plain, { signingDate });
    const isPlain = origin.protocol === 'http:';
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { ...origin, method, path: signed.path, headers: signed.headers, signal };
      const asked = isPlain
        ? requestPlain({ ...options, agent: agents.httpAgent }, resolve)
        : requestSecure({ ...options, agent: agents.httpsAgent }, resolve);
      asked.on('error', reject);
      asked.end();
    });
    // Without a body, the connection can be used again.
    if (method === 'HEAD') response.resume();
    const status = response.statusCode!;
    if (status === 200 || status === 206) return response;
    if (method !== 'HEAD') response.destroy();
    if (status >= 500) throw new StoreUnavailable(`The storage cannot be read: status ${status}`);
    if (status !== 404) routes.delete(bucket);
    return undefined;
  };
}
