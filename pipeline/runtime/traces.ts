/**
 * OpenTelemetry traces of jobs, as OTLP/HTTP in JSON; off unless a collector is configured. Contexts are W3C traceparents. A span's id is
 * derived from its parent and name, so a redelivered message yields the same span and a new dispatcher continues its predecessor's spans.
 * Written by hand, because the SDK's instrumentation knows neither batches nor jobs.
 */
import { createHash, randomBytes } from 'node:crypto';
import packageJson from '../../package.json' with { type: 'json' };
import type { Logger } from './log.ts';

const kinds = { internal: 1, server: 2, consumer: 5 } as const;
const ERROR = 2;

interface Span {
  name: string;
  kind: keyof typeof kinds;
  /** The traceparents of the span and of its parent. */
  context: string;
  parent: string | undefined;
  /** Milliseconds since 1970. */
  start: number;
  end: number;
  attributes?: Record<string, string | number>;
  failed?: boolean;
}

export interface Tracer {
  /** Starts a child of the caller's span, or a root. Undefined if it is not traced. */
  begin(caller: string | undefined): { context: string; parent: string | undefined } | undefined;
  record(span: Span): void;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

const SEND_MS = 1_000;
const TIMEOUT_MS = 10_000;
const MAX_AT_ONCE = 1_000;
/** Further spans are dropped if the collector is too slow. */
const MAX_WAITING = 20_000;

const valid = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const idsOf = (context: string) => ({ traceId: context.slice(3, 35), spanId: context.slice(36, 52) });
const contextOf = (traceId: string, spanId: string) => `00-${traceId}-${spanId}-01`;

export const traceIdOf = (context: string): string => idsOf(context).traceId;
export const isTraced = (context: string | undefined): context is string =>
  context !== undefined && valid.test(context);

export function childOf(parent: string, name: string): string {
  const digest = createHash('sha256').update(`${parent} ${name}`).digest('hex');
  return contextOf(idsOf(parent).traceId, digest.slice(0, 16));
}

const attributesOf = (values: Record<string, string | number>) =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));

function encodeSpan({ name, kind, context, parent, start, end, attributes = {}, failed }: Span) {
  const nanoseconds = (ms: number) => `${Math.round(ms * 1_000)}000`;
  return {
    ...idsOf(context),
    ...(parent === undefined ? {} : { parentSpanId: idsOf(parent).spanId }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(Math.max(start, end)),
    attributes: attributesOf(attributes),
    ...(failed ? { status: { code: ERROR } } : {}),
  };
}

export const noTracer: Tracer = { begin: () => undefined, record() {}, async close() {} };

export function createTracer(
  { otlpUrl }: { otlpUrl?: string | undefined },
  service: string,
  log: Logger,
): Tracer {
  if (otlpUrl === undefined) return noTracer;
  const url = `${otlpUrl.replace(/\/$/, '')}/v1/traces`;
  const resource = {
    attributes: attributesOf({ 'service.name': service, 'service.version': packageJson.version }),
  };
  let waiting: Span[] = [];
  let hasFailed = false;

  async function post(spans: Span[]): Promise<void> {
    const scopeSpans = [{ scope: { name: 'headrace' }, spans: spans.map(encodeSpan) }];
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`the collector answered ${response.status}`);
  }

  async function send(): Promise<void> {
    while (waiting.length > 0) {
      const spans = waiting.splice(0, MAX_AT_ONCE);
      try {
        await post(spans);
        hasFailed = false;
      } catch (error) {
        if (!hasFailed) log.warn({ err: error, url }, 'traces are dropped: the collector does not take them');
        hasFailed = true;
      }
    }
  }
  let sending: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  function sendSoon(): void {
    timer ??= setTimeout(() => {
      sending = send().finally(() => {
        timer = undefined;
        if (waiting.length > 0) sendSoon();
      });
    }, SEND_MS).unref();
  }

  return {
    begin(caller) {
      const given = valid.exec(caller ?? '');
      if (!given) return { context: contextOf(randomHex(16), randomHex(8)), parent: undefined };
      const [parent, traceId, , flags] = given as unknown as [string, string, string, string];
      const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
      return isSampled ? { context: contextOf(traceId, randomHex(8)), parent } : undefined;
    },
    record(span) {
      if (waiting.length >= MAX_WAITING) waiting = waiting.slice(MAX_AT_ONCE);
      waiting.push(span);
      sendSoon();
    },
    async close() {
      clearTimeout(timer);
      await sending;
      await send();
    },
  };
}

const randomHex = (bytes: number) => randomBytes(bytes).toString('hex');
