/** The API with the session's cookie. Queries retry themselves, so the client does not. */
import { type ApiResponse, createClient, readLines } from '../client/client.ts';
import { ApiProblem } from '../client/problem.ts';

const sessionPath = '/console/session';

/** Called when the session is no longer valid. */
let onSessionEnd: () => void = () => {};
export const setSessionEnd = (listener: () => void): void => {
  onSessionEnd = listener;
};

/** CSRF protection: changes need the header, which neither forms nor other sites can send. */
const api = createClient({ baseUrl: '', headers: { 'X-Headrace-Console': '1' }, retryMs: 0 });

const watched = <T>(response: Promise<T>): Promise<T> =>
  response.catch((error) => {
    if (error instanceof ApiProblem && error.status === 401) onSessionEnd();
    throw error;
  });

export const read = <T>(path: string, signal?: AbortSignal): Promise<ApiResponse<T>> =>
  watched(api.get<T>(path, { signal }));

export const request = (path: string): Promise<Response> => watched(api.open(path));

/** With a `key`, a repeated request has no further effect. */
export const change = <T>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
  key?: string,
): Promise<ApiResponse<T>> => watched(api.change<T>(method, path, body, key));

/** Not randomUUID, which requires https. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/** Here a 401 means signed out, not that a session has ended. */
export const session = {
  read: <T>() => api.get<T>(sessionPath),
  change: (method: 'POST' | 'DELETE', body?: object) => api.change(method, sessionPath, body),
};

/** The sender of an ended link; `from`: as in the redirect. */
export const readSender = (from: string): Promise<ApiResponse<{ partner_name: string }>> =>
  api.get(`/console/sender?from=${encodeURIComponent(from)}`);

/** Reads at most `limit` rows of NDJSON, then stops. */
export async function readRows<T>(
  path: string,
  limit: number,
  signal?: AbortSignal,
): Promise<{ rows: T[]; more: boolean }> {
  const rows: T[] = [];
  for await (const row of readLines<T>(await watched(api.open(path, { signal })))) {
    if (rows.length === limit) return { rows, more: true };
    rows.push(row);
  }
  return { rows, more: false };
}
