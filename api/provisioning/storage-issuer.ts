/** Who makes a partner's storage credentials, confined to its prefix. */
import type { StorageCredentials } from '../../pipeline/sources/credentials.ts';

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
