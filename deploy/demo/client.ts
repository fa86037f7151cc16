export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Calls the API as a partner does. */
export function createClient(apiUrl: string, apiKey: string) {
  const call = async (method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { Authorization: `Bearer ${apiKey}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    return { status: response.status, body: text ? (JSON.parse(text) as Record<string, unknown>) : {} };
  };
  return {
    get: (path: string) => call('GET', path),
    post: (path: string, body: object) => call('POST', path, body),
  };
}
export type Client = ReturnType<typeof createClient>;
