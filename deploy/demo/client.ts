export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  /** The path of the record that a request has queued. */
  readonly location: string | undefined;
}

/** Calls the API as a partner does, on behalf of a customer if there is a user token. */
export function createClient(apiUrl: string, apiKey: string, userToken?: string) {
  const call = async (method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(apiUrl + path, {
      method,
      headers: {
        Authorization: `Bearer ${apiKey}`,
        ...(userToken ? { 'x-user-token': userToken } : {}),
        ...(body ? { 'Content-Type': 'application/json' } : {}),
      },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    const location = response.headers.get('location');
    return {
      status: response.status,
      body: text ? (JSON.parse(text) as Record<string, unknown>) : {},
      location: location ? new URL(location, apiUrl).pathname : undefined,
    };
  };
  return {
    get: (path: string) => call('GET', path),
    post: (path: string, body: object) => call('POST', path, body),
    patch: (path: string, body: object) => call('PATCH', path, body),
  };
}
export type Client = ReturnType<typeof createClient>;
