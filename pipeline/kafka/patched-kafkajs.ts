/**
 * kafkajs, patched before it is loaded. It works against current brokers but is no longer maintained:
 * - an idle connection re-arms a 1 ms timer forever, which keeps a core busy, and looks for late answers every 100 ms;
 * - a produced message is copied about eight times, and its checksum is taken byte by byte;
 * - it measures durations with the wall clock: one that is set back ends the heartbeats until it has caught up, so the broker takes
 *   the partitions away and the consumer, which goes on fetching, does not notice; one that is set forward lets requests time out;
 * - it fetches from each broker separately, and when one of them is no longer the leader it joins the group again right there,
 *   while handlers of other partitions still work: they then resolve offsets of an assignment that is gone;
 * - a broker that takes the connection and does not answer, such as a frozen one, counts as connected: it is retried forever, and
 *   no other of the list is tried.
 * All of kafkajs's parts take each other from the module cache, so that is where the patched ones are put.
 */
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { type EncodedPayload, encodeProduce, frameRequest, type TopicData } from './produce-request.ts';

const require = createRequire(import.meta.url);

interface RequestQueue {
  pending: unknown[];
  inflight: Map<number, InFlight>;
  maxInFlightRequests: number | null;
  /** As performance.now() tells the time. */
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}
interface InFlight {
  requestTimeout: number;
  timeoutRequest(): void;
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
  this.throttleCheckTimeoutId = setTimeout(check, Math.max(10, this.throttledUntil - performance.now()));
};
requestQueue.prototype.maybeThrottle = function (this: RequestQueue, forMs: number | null) {
  if (forMs) this.throttledUntil = Math.max(performance.now() + forMs, this.throttledUntil);
};
requestQueue.prototype.canSendSocketRequestImmediately = function (this: RequestQueue) {
  const isFull = this.maxInFlightRequests !== null && this.inflight.size >= this.maxInFlightRequests;
  return !isFull && this.throttledUntil <= performance.now();
};

/** The original looks for late answers ten times a second on every connection, which is most of what an idle process does. */
interface LateAnswers extends RequestQueue {
  enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout | undefined;
  isConnected(): boolean;
  destroy(): void;
}
requestQueue.prototype.scheduleRequestTimeoutCheck = function (this: LateAnswers) {
  if (!this.enforceRequestTimeout) return;
  this.destroy();
  const firstSeen = new WeakMap<InFlight, number>();
  this.requestTimeoutIntervalId = setInterval(() => {
    const now = performance.now();
    for (const request of this.inflight.values()) {
      const since = firstSeen.get(request);
      if (since === undefined) firstSeen.set(request, now);
      else if (now - since > request.requestTimeout) request.timeoutRequest();
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

// After those that are replaced: loading this part loads others.
interface ConsumerGroup {
  lastRequest: number;
  cluster: {
    refreshMetadata(): Promise<void>;
    removeBroker(address: { host?: string; port?: number }): void;
  };
  heartbeat(options: { interval: number }): Promise<void>;
  recoverFromFetch(error: KafkaError): Promise<void>;
}
interface KafkaError extends Error {
  type?: string;
  host?: string;
  port?: number;
}
const consumerGroup = require('kafkajs/src/consumer/consumerGroup.js') as { prototype: ConsumerGroup };
const { heartbeat } = consumerGroup.prototype;
consumerGroup.prototype.heartbeat = function (options) {
  // The last one lies in the future of a clock that was set back.
  if (this.lastRequest > Date.now()) this.lastRequest = 0;
  return heartbeat.call(this, options);
};

const LEADER_PAUSE_MS = 200;
const movedLeader = new Set([
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'OFFSET_NOT_AVAILABLE',
  'REPLICA_NOT_AVAILABLE',
  'KAFKA_STORAGE_ERROR',
]);
const unreachable = new Set([
  'KafkaJSTopicMetadataNotLoaded',
  'KafkaJSBrokerNotFound',
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
]);
const { recoverFromFetch } = consumerGroup.prototype;
consumerGroup.prototype.recoverFromFetch = async function (error) {
  if (movedLeader.has(error.type ?? '') || unreachable.has(error.name)) {
    // Another broker leads, or will in a moment. The assignment is still ours: only the address has changed.
    if (error.name === 'KafkaJSConnectionClosedError') this.cluster.removeBroker(error);
    await sleep(LEADER_PAUSE_MS);
    return this.cluster.refreshMetadata();
  }
  // Thrown on, it stops all fetchers first; they join again when every handler has settled.
  if (error.name === 'KafkaJSStaleTopicMetadataAssignment')
    throw Object.assign(error, { type: 'REBALANCE_IN_PROGRESS' });
  return recoverFromFetch.call(this, error);
};

interface Broker {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}
const broker = require('kafkajs/src/broker/index.js') as { prototype: Broker };
const { KafkaJSConnectionError } = require('kafkajs/src/errors.js') as {
  KafkaJSConnectionError: new (message: string) => Error;
};
const { connect } = broker.prototype;
broker.prototype.connect = async function () {
  try {
    await connect.call(this);
  } catch (error) {
    await this.disconnect();
    const { name, message } = error as Error;
    throw name === 'KafkaJSRequestTimeoutError' ? new KafkaJSConnectionError(message) : error;
  }
};

export const { Kafka, logLevel } = require('kafkajs') as typeof import('kafkajs');
