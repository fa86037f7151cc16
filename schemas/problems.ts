/** Every problem that an HTTP answer can name. A code, once given, keeps its meaning; clients may switch on it. */
export const problems = {
  bad_json: { status: 400, title: 'The body is not JSON' },
  bad_request: { status: 400, title: 'The request is not well formed' },
  bad_idempotency_key: { status: 400, title: 'The Idempotency-Key is not 1 to 255 visible ASCII characters' },
  unauthorized: { status: 401, title: 'A valid API key is needed' },
  bad_user_token: { status: 401, title: 'The user token is not valid' },
  not_found: { status: 404, title: 'There is no such thing here' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  idempotency_conflict: { status: 409, title: 'The Idempotency-Key was used for another request' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body is to be application/json' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  invalid_body: { status: 422, title: 'The body breaks a rule' },
  invalid_query: { status: 422, title: 'A query parameter breaks a rule' },
  too_deep: { status: 422, title: 'The body is nested too deeply' },
  unknown_keys: { status: 422, title: 'Some keys are not the partner’s' },
  too_many_wrong_keys: { status: 429, title: 'Too many wrong keys came from this address' },
  too_many_pending: { status: 429, title: 'Too many jobs of this partner have not ended' },
  rate_limited: { status: 429, title: 'Too many requests with this key' },
  internal: { status: 500, title: 'Something failed on our side' },
  unavailable: { status: 503, title: 'The service cannot take this right now' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problems;
export const problemCodes = Object.keys(problems) as [ProblemCode, ...ProblemCode[]];
export const problemType = (code: ProblemCode) => `urn:headrace:problem:${code}`;

/** One entry for each rule that a body breaks: where (`credentials.region`, `keys.3`), and what. */
export interface FieldError {
  path: string;
  message: string;
}
