/** Storage errors: permanent failures (StoreFailure) and transient ones (StoreUnavailable). */
import { S3ServiceException } from '@aws-sdk/client-s3';
import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';

export type StoreFailureCode =
  | 'storage_unavailable'
  | 'storage_too_slow'
  | 'access_denied'
  | 'no_such_bucket'
  | 'wrong_region'
  | 'bad_credentials'
  | 'missing'
  | 'changed';

/** A permanent failure for this object and these credentials. */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure';
  readonly retriable = false;
  readonly code: StoreFailureCode;

  constructor(code: StoreFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A network failure, or a server that is down or overloaded. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  readonly retriable = true;
  readonly code = 'store_unavailable';
}

const codesByName: Record<string, StoreFailureCode> = {
  AccessDenied: 'access_denied',
  AllAccessDisabled: 'access_denied',
  AccountProblem: 'access_denied',
  InvalidObjectState: 'access_denied',
  NoSuchBucket: 'no_such_bucket',
  InvalidBucketName: 'no_such_bucket',
  PermanentRedirect: 'wrong_region',
  AuthorizationHeaderMalformed: 'wrong_region',
  IllegalLocationConstraintException: 'wrong_region',
  IllegalLocationConstraint: 'wrong_region',
  InvalidAccessKeyId: 'bad_credentials',
  SignatureDoesNotMatch: 'bad_credentials',
  InvalidToken: 'bad_credentials',
  ExpiredToken: 'bad_credentials',
  NoSuchKey: 'missing',
  NotFound: 'missing',
  KeyTooLongError: 'missing',
  PreconditionFailed: 'changed',
  InvalidRange: 'changed',
};

/** For responses without a body, and for unknown error names. */
const codesByStatus: Record<number, StoreFailureCode> = {
  301: 'wrong_region',
  400: 'wrong_region',
  403: 'access_denied',
  404: 'missing',
  412: 'changed',
  416: 'changed',
};

const sentences: Record<StoreFailureCode, string> = {
  storage_unavailable: 'The storage did not respond in time for',
  storage_too_slow: 'The storage delivered too slowly:',
  access_denied: 'The storage denied access to',
  no_such_bucket: 'The bucket does not exist:',
  wrong_region: 'The bucket is in a different region:',
  bad_credentials: 'The storage rejected the credentials for',
  missing: 'The object does not exist:',
  changed: 'The object was replaced while it was being read:',
};

interface ServiceError {
  name: string;
  code?: unknown;
  $metadata?: { httpStatusCode?: number };
}

export const storeFailure = (code: StoreFailureCode, bucket: string, key: string, detail?: string) =>
  new StoreFailure(code, `${sentences[code]} s3://${bucket}/${key}${detail ? ` (${detail})` : ''}.`);

export const statusOf = (error: unknown): number | undefined =>
  (error as ServiceError).$metadata?.httpStatusCode;

const retriableStatuses = [408, 409, 425];
const retriableNames = ['RequestTimeTooSkewed', 'TemporaryRedirect'];

/**
 * Classifies like the S3 client, which does not know the error names of services behind the storage (`KMS.ThrottlingException`), nor that
 * clock skew may be temporary.
 */
function isRetriable(error: S3ServiceException): boolean {
  const name = error.name.replace(/^\w+\./, '');
  const { $metadata, $retryable, message } = error;
  const plain = { name, message, $metadata, $retryable, $fault: error.$fault };
  return (
    isTransientError(plain) ||
    isThrottlingError(plain) ||
    isServerError(plain) ||
    retriableStatuses.includes($metadata.httpStatusCode ?? 0) ||
    retriableNames.includes(name)
  );
}

/**
 * An error response that is not known to be transient is permanent. A broken connection or an unparsable response is transient. Failures do
 * not keep their cause, because the response to a bad signature quotes what was signed.
 */
export function toStoreError(error: unknown, bucket: string, key: string): StoreFailure | StoreUnavailable {
  if (error instanceof StoreFailure || error instanceof StoreUnavailable) return error;
  const { name, code, message } = error as ServiceError & Error;
  const status = statusOf(error);
  // The region or credentials are so invalid that the client throws before sending a request.
  if (name === 'EndpointError' || /^(Region not accepted|Invalid region)/i.test(message)) {
    return storeFailure('wrong_region', bucket, key);
  }
  if (name === 'CredentialsProviderError') return storeFailure('bad_credentials', bucket, key, message);
  if (code === 'ERR_INVALID_CHAR') return storeFailure('bad_credentials', bucket, key);
  if (status === undefined || status < 300 || !(error instanceof S3ServiceException) || isRetriable(error)) {
    return new StoreUnavailable(`The storage cannot be read: ${name}: ${message}`, { cause: error });
  }
  // A response without a body has no error name, or one that the client derived from the status.
  const known = codesByName[name] ?? (/^(Unknown|\d+$)/.test(name) ? codesByStatus[status] : undefined);
  return storeFailure(
    known ?? (status === 404 ? 'missing' : 'access_denied'),
    bucket,
    key,
    `${status} ${name}`,
  );
}
