/** Issues a partner's storage credentials, limited to its prefix. */
import type { StorageCredentials } from '../../pipeline/sources/credentials.ts';

export interface StoragePartner {
  id: string;
  prefix: string;
  /** The name of the storage user; random, so that it can be chosen before the user exists. */
  storageUser: string;
}

export interface StorageIssuer {
  issue(partner: StoragePartner): Promise<StorageCredentials>;
  /** Revokes the credentials. Uploaded files stay. */
  revoke(partner: StoragePartner): Promise<void>;
  /** Takes the rights away and gives them back; the keys stay the same. Absent where only an operator can do it. */
  suspend?(partner: StoragePartner): Promise<void>;
  resume?(partner: StoragePartner): Promise<void>;
}
