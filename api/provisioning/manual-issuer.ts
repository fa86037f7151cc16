/** Storage whose users the operator makes himself (MinIO, Ceph, a company's own tools): we only say what a user may do. */
import type { ConfigOf } from '../../schemas/config.ts';
import { partnerPolicy } from './policies.ts';
import type { StorageIssuer } from './storage-issuer.ts';

export const createManualIssuer = (config: ConfigOf<'admin'>): StorageIssuer => ({
  isManual: true,
  issue: async (partner) => ({ policy: partnerPolicy(config, partner) }),
  revoke: async () => {},
});
