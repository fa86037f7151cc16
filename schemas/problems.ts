/** Every problem code of the HTTP API. A published code keeps its meaning: clients may switch on it. */
export const problems = {
  bad_json: { status: 400, title: 'The body is not valid JSON' },
  bad_request: { status: 400, title: 'The request is malformed' },
  bad_idempotency_key: {
    status: 400,
    title: 'The Idempotency-Key must be 1 to 255 visible ASCII characters',
  },
  unauthorized: { status: 401, title: 'A valid API key is required' },
  key_expired: { status: 401, title: 'The API key has expired' },
  bad_user_token: { status: 401, title: 'The user token is not valid' },
  forbidden: { status: 403, title: 'The session does not allow this' },
  insufficient_scope: { status: 403, title: 'The API key lacks a scope that this operation needs' },
  partner_suspended: { status: 403, title: 'The partner is suspended' },
  not_found: { status: 404, title: 'The resource does not exist' },
  method_not_allowed: { status: 405, title: 'The resource does not support this method' },
  request_timeout: { status: 408, title: 'The request was not received in time' },
  idempotency_conflict: {
    status: 409,
    title: 'The Idempotency-Key was already used for a different request',
  },
  webhook_exists: { status: 409, title: 'A webhook with this URL already exists' },
  webhook_disabled: { status: 409, title: 'The webhook is disabled' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body must be application/json' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  invalid_body: { status: 422, title: 'The body is invalid' },
  invalid_query: { status: 422, title: 'A query parameter is invalid' },
  too_deep: { status: 422, title: 'The body is nested too deeply' },
  unknown_keys: { status: 422, title: 'Some keys do not belong to you' },
  too_many_wrong_keys: { status: 429, title: 'Too many requests with an invalid API key from this address' },
  too_many_pending: { status: 429, title: 'Too many unfinished jobs, dry runs or reports' },
  too_many_webhooks: { status: 429, title: 'Too many webhooks' },
  quota_exceeded: { status: 429, title: 'Daily quota exceeded' },
  too_many_streams: { status: 429, title: 'Too many open event streams' },
  rate_limited: { status: 429, title: 'Too many requests with this API key' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'The service is temporarily unavailable' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problems;
export const problemCodes = Object.keys(problems) as [ProblemCode, ...ProblemCode[]];
export const problemType = (code: ProblemCode) => `urn:headrace:problem:${code}`;

/** One violation in a body or a query: its path (`credentials.region`, `keys.3`) and message. */
export interface FieldError {
  path: string;
  message: string;
}
