/** Issues a partner's storage credentials, limited to its prefix. */
import type { StorageCredentials } from '../../pipeline/sources/credentials.ts';
import type { ConfigOf } from '../../schemas/config.ts';
import { type Policy, partnerPolicy } from './policies.ts';

export interface StoragePartner {
  id: string;
  prefix: string;
  /** The name of the storage user; random, so that it can be chosen before the user exists. */
  storageUser: string;
}

/** The operator must create a user with this policy. */
interface ToIssue {
  policy: Policy;
}

export interface StorageIssuer {
  /** Issues no keys: the operator creates them. */
  readonly isManual?: true;
  issue(partner: StoragePartner): Promise<StorageCredentials | ToIssue>;
  /** Revokes the credentials. Uploaded files stay. */
  revoke(partner: StoragePartner): Promise<void>;
  /** Withdraws and restores the rights; the keys stay the same. Absent if only the operator can do it. */
  suspend?(partner: StoragePartner): Promise<void>;
  resume?(partner: StoragePartner): Promise<void>;
}

/** The operator creates the storage users (MinIO, Ceph); we only print the policy. */
export const createManualIssuer = (config: ConfigOf<'admin'>): StorageIssuer => ({
  isManual: true,
  issue: async (partner) => ({ policy: partnerPolicy(config, partner) }),
  revoke: async () => {},
});
