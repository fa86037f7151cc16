/**
 * kafkajs, patched before it is loaded. It works against current brokers but is no longer maintained:
 * - an idle connection re-arms a 1 ms timer forever, which keeps a core busy, and checks for request timeouts every 100 ms;
 * - it copies a produced message about eight times and computes its checksum byte by byte;
 * - it measures durations with the wall clock. Set back, the clock stops heartbeats until it has caught up: the broker revokes the
 *   partitions and the consumer, still fetching, does not notice. Set forward, requests time out;
 * - it fetches from each broker separately, and rejoins the group as soon as one of them is no longer the leader, while handlers of other
 *   partitions still work: they then resolve offsets of a past assignment;
 * - a member that was expelled because its host was too busy for heartbeats rejoins with the same session timeout, is expelled again, and
 *   causes a rebalance each time;
 * - a broker that accepts the connection but does not answer, such as a frozen one, counts as connected: it is retried forever, and no
 *   other broker of the list is tried.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import broker from 'kafkajs/src/broker/index.js';
import consumerGroup from 'kafkajs/src/consumer/consumerGroup.js';
import errors from 'kafkajs/src/errors.js';
import requestQueue from 'kafkajs/src/network/requestQueue/index.js';
import encoder from 'kafkajs/src/protocol/encoder.js';
import produce from 'kafkajs/src/protocol/requests/produce/index.js';
import { type Encoded, encodeProduce, prepend, type TopicData } from './produce-request.ts';

export { Kafka, logLevel };

interface RequestQueue {
  pending: unknown[];
  inflight: Map<number, InFlight>;
  maxInFlightRequests: number | null;
  /** On the clock of performance.now(). */
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}
interface InFlight {
  requestTimeout: number;
  timeoutRequest(): void;
}
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

/** The original checks for timeouts ten times a second per connection: most of the CPU time of an idle process. */
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

interface ProduceOptions {
  acks: number;
  timeout: number;
  transactionalId?: string | null;
  compression?: number;
  topicData: TopicData[];
}
interface Produce {
  request: { encode: () => Promise<Encoded> };
  response: unknown;
}
const { protocol } = produce as { protocol(of: { version: number }): (options: ProduceOptions) => Produce };
produce.protocol = ({ version }: { version: number }) => {
  const original = protocol({ version });
  return (options: ProduceOptions): Produce => {
    const { request, response } = original(options);
    if (version < 3 || options.transactionalId || options.compression) return { request, response };
    const encode = async () => encodeProduce(options.acks, options.timeout, options.topicData);
    return { request: { ...request, encode }, response };
  };
};

const { writeEncoder } = encoder.prototype as { writeEncoder(value: Encoded): Encoded };
encoder.prototype.writeEncoder = function (this: Encoded, value: Encoded) {
  return prepend(this, value) ? this : writeEncoder.call(this, value);
};

interface ConsumerGroup {
  lastRequest: number;
  /** Null before the first join, and after the group has expelled the member. */
  memberId: string | null;
  generationId: number | null;
  sessionTimeout: number;
  logger: { error(message: string): void };
  joinAndSync(): Promise<void>;
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
const group: ConsumerGroup = consumerGroup.prototype;
const { heartbeat, recoverFromFetch, joinAndSync } = group;
group.heartbeat = function (options) {
  // In the future if the clock was set back.
  if (this.lastRequest > Date.now()) this.lastRequest = 0;
  return heartbeat.call(this, options);
};

const MAX_SESSION_MS = 30_000;
group.joinAndSync = function () {
  const isExpelled = this.generationId !== null && this.memberId === null;
  if (isExpelled && this.sessionTimeout < MAX_SESSION_MS) {
    this.sessionTimeout = Math.min(2 * this.sessionTimeout, MAX_SESSION_MS);
    this.logger.error(`Expelled for lack of heartbeats: session timeout is now ${this.sessionTimeout} ms`);
  }
  return joinAndSync.call(this);
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
group.recoverFromFetch = async function (error) {
  if (movedLeader.has(error.type ?? '') || unreachable.has(error.name)) {
    // The partition has a new leader, or soon will. The assignment is still ours.
    if (error.name === 'KafkaJSConnectionClosedError') this.cluster.removeBroker(error);
    await sleep(LEADER_PAUSE_MS);
    return this.cluster.refreshMetadata();
  }
  // Rethrown, it stops all fetchers first: they rejoin when every handler has settled.
  if (error.name === 'KafkaJSStaleTopicMetadataAssignment')
    throw Object.assign(error, { type: 'REBALANCE_IN_PROGRESS' });
  return recoverFromFetch.call(this, error);
};

interface Broker {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}
const brokers: Broker = broker.prototype;
const { connect } = brokers;
brokers.connect = async function () {
  try {
    await connect.call(this);
  } catch (error) {
    await this.disconnect();
    const { name, message } = error as Error;
    throw name === 'KafkaJSRequestTimeoutError' ? new errors.KafkaJSConnectionError(message) : error;
  }
};
