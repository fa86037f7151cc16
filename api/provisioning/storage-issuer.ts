/** Who makes a partner's storage credentials, confined to its prefix. */
import type { Db } from 'mongodb';
import type { Config } from '../../schemas/config.ts';
import { createAwsIssuer } from './aws-issuer.ts';
import { createPolicyLock } from './policy-lock.ts';
import type { StorageCredentials } from './signed-request.ts';
import { createVersitygwIssuer } from './versitygw-issuer.ts';

export interface StoragePartner {
  id: string;
  prefix: string;
  /** The user's name in the storage; random, so that it can be chosen before the user exists. */
  storageUser: string;
}

export interface StorageIssuer {
  issue(partner: StoragePartner): Promise<StorageCredentials>;
  /** Takes the credentials away. What was uploaded stays. */
  revoke(partner: StoragePartner): Promise<void>;
}

export const createStorageIssuer = (config: Config, db: Db): StorageIssuer =>
  config.s3Issuer === 'versitygw'
    ? createVersitygwIssuer(config, createPolicyLock(db))
    : createAwsIssuer(config);
