/** Two ways to queue a request: directly, for tests of the pipeline; and through the API, repeated until it is answered. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sealCredentials, serviceCredentials } from '../../../pipeline/sources/credentials.ts';
import type { PartnerDocument } from '../../../schemas/partner-documents.ts';
import type { Driver } from '../../support/driver.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Request, Submit } from './lane.ts';

/** The shared bucket, addressed as a partner's own bucket: with endpoint and credentials. */
const ownPath = (driver: Driver, partner: PartnerDocument, path: string) =>
  `s3://${driver.config.s3Bucket}/${partner.prefix}${path}`;

export function submitByDriver(driver: Driver): Submit {
  const { s3Region, secret } = driver.config;
  const keys = serviceCredentials(driver.config)!;
  return async (partner, request) => {
    if (request.kind === 'delete') return driver.delete(partner, request.attributes);
    if (request.kind === 'privacy') return driver.privacy(request.type, partner, request.identifiers);
    if (request.kind === 'create') return driver.createAudience(partner, request.path);
    if (request.kind === 'append') return driver.append(partner, request.audience, request.path);
    if (request.kind === 'clear') {
      await driver.clear(partner, request.audience);
      return null;
    }
    if (!request.own) return driver.import(partner, request.path, { compressed: request.compressed });
    const credentials = (_id: number) => sealCredentials(secret, { _id, partner: partner._id }, keys);
    const own = { pathType: 1 as const, credentials, region: s3Region, compressed: request.compressed };
    return driver.import(partner, ownPath(driver, partner, request.path), own);
  };
}

export interface RestCounts {
  requests: number;
  /** Attempts that got 503 or no response. */
  unanswered: number;
  repeated: number;
}

const IMPORT = '/v1/marketplace/import';
const AUDIENCE = '/v2/firstparty/audience';
const PRIVACY = '/v1/privacy/requests';

function callOf(driver: Driver, partner: PartnerDocument, request: Request) {
  if (request.kind === 'delete')
    return { method: 'DELETE', path: IMPORT, body: { key_type: 0, keys: request.attributes.map(String) } };
  if (request.kind === 'privacy') {
    const { type, identifiers } = request;
    return { method: 'POST', path: PRIVACY, body: { type, identifiers } };
  }
  if (request.kind === 'create')
    return { method: 'POST', path: AUDIENCE, body: { name: 'audience', file_path: request.path } };
  if (request.kind === 'append')
    return { method: 'PATCH', path: `${AUDIENCE}/${request.audience}`, body: { file_path: request.path } };
  if (request.kind === 'clear') return { method: 'PUT', path: `${AUDIENCE}/${request.audience}` };
  const { s3Region: region } = driver.config;
  const own = { path_type: 1, credentials: { ...serviceCredentials(driver.config), region } };
  return {
    method: 'POST',
    path: IMPORT,
    body: {
      file_path: request.own ? ownPath(driver, partner, request.path) : request.path,
      key_type: 0,
      ...(request.compressed === null ? {} : { compressed: request.compressed }),
      ...(request.own ? own : {}),
    },
  };
}

/** Responses that mean "later": nothing was queued, and the same key may be sent again. */
const LATER = [429, 503];
const PAUSE_MS = 150;

interface Reply {
  status: number;
  text: string;
}

async function attempt(
  url: string,
  headers: Record<string, string>,
  call: ReturnType<typeof callOf>,
): Promise<Reply> {
  const body = call.body && JSON.stringify(call.body);
  const signal = AbortSignal.timeout(30_000);
  const response = await fetch(url + call.path, { method: call.method, headers, body, signal });
  return { status: response.status, text: await response.text() };
}

/** Sends one request to one process, once. */
export async function createCaller(driver: Driver, partner: PartnerDocument) {
  const { key } = await driver.stores.apiKeys.create(driver.config.secret, partner._id);
  return (url: string, request: Request, idempotencyKey?: string): Promise<Reply> => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const repeatable: Record<string, string> = idempotencyKey ? { 'Idempotency-Key': idempotencyKey } : {};
    return attempt(url, { ...headers, ...repeatable }, callOf(driver, partner, request));
  };
}

export function submitByRest(
  driver: Driver,
  urls: () => string[],
  counts: RestCounts,
  deadlineMs = 600_000,
): Submit {
  const keys = new Map<string, Promise<string>>();
  const keyOf = (partner: string) => {
    const known =
      keys.get(partner) ??
      waitFor(() => driver.stores.apiKeys.create(driver.config.secret, partner), { what: 'an API key' }).then(
        ({ key }) => key,
      );
    keys.set(partner, known);
    return known;
  };

  return async (partner, request) => {
    const call = callOf(driver, partner, request);
    const headers = {
      Authorization: `Bearer ${await keyOf(partner._id)}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': randomUUID(),
    };
    const until = performance.now() + deadlineMs;
    let first: string | undefined;
    for (;;) {
      counts.requests++;
      const all = urls();
      const url = all[counts.requests % all.length]!;
      const answer = await attempt(url, headers, call).catch(() => null);
      if (answer && answer.status < 300) {
        if (first !== undefined && first !== answer.text)
          throw new Error(
            `VIOLATION: ${call.method} ${call.path} was answered with ${first}, repeated with ${answer.text}`,
          );
        const again = first === undefined && counts.requests % 5 === 0;
        first = answer.text;
        if (again) {
          counts.repeated++;
          continue;
        }
        const parsed = first === '' ? {} : (JSON.parse(first) as Record<string, number>);
        return parsed.import_log_id ?? parsed.audience_id ?? parsed.request_id ?? null;
      }
      if (answer && !LATER.includes(answer.status))
        throw new Error(
          `VIOLATION: ${call.method} ${call.path} was answered with ${answer.status}: ${answer.text}`,
        );
      counts.unanswered++;
      if (performance.now() > until)
        throw new Error(
          `VIOLATION: ${call.method} ${call.path} has not been accepted for ${deadlineMs / 1_000} s`,
        );
      await sleep(PAUSE_MS);
    }
  };
}
