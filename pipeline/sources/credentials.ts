/** A partner's own storage credentials at rest: sealed, and bound to job and partner. */
import { Binary } from 'mongodb';
import type { Config } from '../../schemas/config.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { seal, UnsealError, unseal } from '../runtime/seal.ts';
import { StoreFailure } from './store-errors.ts';

export interface StorageCredentials {
  accessKeyId: string;
  secretAccessKey: string;
}

/** The service's own credentials. Undefined: the AWS SDK finds them (environment, web identity, instance role). */
export const serviceCredentials = ({
  s3AccessKeyId,
  s3SecretAccessKey,
}: Pick<Config, 's3AccessKeyId' | 's3SecretAccessKey'>): StorageCredentials | undefined =>
  s3AccessKeyId && s3SecretAccessKey
    ? { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey }
    : undefined;

type Owner = Pick<JobDocument, '_id' | 'partner'>;
const contextOf = ({ _id, partner }: Owner) => `${partner}/${_id}`;

export function sealCredentials(secret: Uint8Array, owner: Owner, credentials: StorageCredentials): Binary {
  const { accessKeyId, secretAccessKey } = credentials;
  return new Binary(seal(secret, JSON.stringify({ accessKeyId, secretAccessKey }), contextOf(owner)));
}

/** If they cannot be opened, only this job fails. */
export function openCredentials(
  secrets: readonly Uint8Array[],
  job: Owner & Pick<JobDocument, 'credentials'>,
): StorageCredentials {
  if (!job.credentials)
    throw new StoreFailure('bad_credentials', 'The credentials of the job no longer exist.');
  try {
    return JSON.parse(unseal(secrets, job.credentials, contextOf(job)));
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    throw new StoreFailure(
      'bad_credentials',
      `The credentials of the job cannot be decrypted: ${error.message}.`,
    );
  }
}
