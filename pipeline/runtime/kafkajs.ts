/**
 * kafkajs, mended before it is loaded. It works against current brokers but is no longer maintained:
 * - an idle connection re-arms a 1 ms timer for ever, which keeps a core busy, and looks for late answers every 100 ms;
 * - a produced message is copied about eight times, and its checksum is taken byte by byte.
 * All of kafkajs's parts take each other from the module cache, so that is where the mended ones are put.
 */
import { createRequire } from 'node:module';
import { type EncodedPayload, encodeProduce, frameRequest, type TopicData } from './produce-request.ts';

const require = createRequire(import.meta.url);

interface RequestQueue {
  pending: unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}
const requestQueue = require('kafkajs/src/network/requestQueue/index.js') as {
  prototype: Record<string, unknown>;
};
requestQueue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
  if (this.pending.length === 0 || this.throttleCheckTimeoutId) return;
  const check = () => {
    this.throttleCheckTimeoutId = null;
    this.checkPendingRequests();
  };
  this.throttleCheckTimeoutId = setTimeout(check, Math.max(10, this.throttledUntil - Date.now()));
};

/** The original looks for late answers ten times a second on every connection, which is most of what an idle process does. */
interface LateAnswers extends RequestQueue {
  enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout | undefined;
  inflight: Map<number, { sentAt: number; requestTimeout: number; timeoutRequest(): void }>;
  isConnected(): boolean;
  destroy(): void;
}
requestQueue.prototype.scheduleRequestTimeoutCheck = function (this: LateAnswers) {
  if (!this.enforceRequestTimeout) return;
  this.destroy();
  this.requestTimeoutIntervalId = setInterval(() => {
    for (const request of this.inflight.values()) {
      if (Date.now() - request.sentAt > request.requestTimeout) request.timeoutRequest();
    }
    if (!this.isConnected()) this.destroy();
  }, 1_000);
};

function replace<T>(path: string, mend: (original: T) => T): void {
  const original = require(path) as T;
  require.cache[require.resolve(path)]!.exports = mend(original);
}

interface ProduceOptions {
  acks: number;
  timeout: number;
  transactionalId?: string | null;
  compression?: number;
  topicData: TopicData[];
}
type ProduceRequest = (options: ProduceOptions) => { encode: () => Promise<unknown> };
replace<ProduceRequest>('kafkajs/src/protocol/requests/produce/v3/request.js', (original) => (options) => {
  const request = original(options);
  if (options.transactionalId || options.compression) return request;
  return { ...request, encode: async () => encodeProduce(options.acks, options.timeout, options.topicData) };
});

interface Request {
  correlationId: number;
  clientId: string;
  request: { apiKey: number; apiVersion: number; encode: () => Promise<unknown> };
}
type Frame = (request: Request) => Promise<unknown>;
replace<Frame>(
  'kafkajs/src/protocol/request.js',
  (original) =>
    async ({ correlationId, clientId, request }) => {
      const payload = (await request.encode()) as Partial<EncodedPayload>;
      const buffer = frameRequest(payload, {
        apiKey: request.apiKey,
        apiVersion: request.apiVersion,
        correlationId,
        clientId,
      });
      if (buffer) return { buf: buffer, buffer, size: () => buffer.length };
      return original({ correlationId, clientId, request: { ...request, encode: async () => payload } });
    },
);

export const { Kafka, logLevel } = require('kafkajs') as typeof import('kafkajs');
