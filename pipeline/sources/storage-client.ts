/** An S3 client with one set of credentials. Every request is a single attempt with a timeout; patience.ts retries. */
import { Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { S3Client } from '@aws-sdk/client-s3';
import { linkedAbort } from '../runtime/deadline.ts';
import type { StorageCredentials } from './credentials.ts';
import { createDirectRequest, type DirectRequest } from './direct-request.ts';
import { ignoreOddDates, type OnOddDate } from './odd-dates.ts';
import { StoreUnavailable } from './store-errors.ts';

export interface StorageOptions {
  /** '' is AWS. */
  endpoint: string;
  region: string;
  /** Undefined: found by the AWS SDK. */
  credentials: StorageCredentials | undefined;
  /** Timeout for a connection, for the start of a response, and for each next byte. */
  idleMs: number;
  onOddDate?: OnOddDate;
}

export interface StorageClient extends Omit<StorageOptions, 'credentials' | 'onOddDate'> {
  /** One request with a timeout for the complete response (for a body: its headers). */
  ask<T>(
    request: (s3: S3Client, abort: { abortSignal: AbortSignal }) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>;
  direct: DirectRequest;
  close(): void;
}

/** More than are ever read at once (stages/split/places.ts), so that stalled reads never block other partners' connections. */
const MAX_SOCKETS = 4_096;

export function connectStorage({ credentials, onOddDate, ...options }: StorageOptions): StorageClient {
  const { endpoint, region, idleMs } = options;
  const sockets = { keepAlive: true, maxSockets: MAX_SOCKETS };
  const agents = { httpAgent: new PlainAgent(sockets), httpsAgent: new SecureAgent(sockets) };
  const s3 = new S3Client({
    region,
    ...(credentials ? { credentials } : {}),
    ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: idleMs,
      requestTimeout: idleMs,
      throwOnRequestTimeout: true,
      ...agents,
    },
    // Optional checksums cost a pass over the bytes; a corrupt byte shows in rows and counts.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  ignoreOddDates(s3, onOddDate);

  return {
    ...options,
    direct: createDirectRequest(s3, agents),
    async ask(request, signal) {
      // The client's own timeouts end with the headers; without this, a stalled listing or error body would never end.
      const { controller, unlink } = linkedAbort(signal);
      let timer: NodeJS.Timeout | undefined;
      const given = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          const late = new StoreUnavailable(`No complete response within ${2 * idleMs} ms.`);
          reject(late);
          controller.abort(late);
        }, 2 * idleMs);
      });
      try {
        return await Promise.race([request(s3, { abortSignal: controller.signal }), given]);
      } finally {
        clearTimeout(timer);
        unlink();
      }
    },
    close: () => s3.destroy(),
  };
}
