/** Issues a partner's storage credentials, limited to its prefix. */
import type { StorageCredentials } from '../../pipeline/sources/credentials.ts';
import type { Policy } from './policies.ts';

export interface StoragePartner {
  id: string;
  prefix: string;
  /** The name of the storage user; random, so that it can be chosen before the user exists. */
  storageUser: string;
}

/** What somebody else has to do: make a user with this policy. */
export interface ToIssue {
  policy: Policy;
}

export interface StorageIssuer {
  issue(partner: StoragePartner): Promise<StorageCredentials | ToIssue>;
  /** Revokes the credentials. Uploaded files stay. */
  revoke(partner: StoragePartner): Promise<void>;
}
