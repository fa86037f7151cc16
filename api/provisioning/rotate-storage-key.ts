/**
 * Rotates a partner's storage keys: adds a second storage user for the same prefix until the first is retired. Storage keys cannot
 * expire, so retiring is a second step.
 */

import type { StorageCredentials } from '../../pipeline/sources/credentials.ts';
import { newStorageUser, ProvisioningError } from '../../pipeline/stores/partners.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import type { ApiStores } from '../stores/api-stores.ts';
import type { StorageIssuer } from './storage-issuer.ts';

type Stores = Pick<ApiStores, 'partners'>;

const userOf = ({ _id: id, prefix }: PartnerDocument, storageUser: string) => ({ id, prefix, storageUser });
const failed = (what: string) => (cause: Error) => {
  throw new ProvisioningError('storage_failed', `${what}: ${cause.message}`, { cause });
};

export async function rotateStorageKey(
  { partners }: Stores,
  issuer: StorageIssuer,
  id: string,
): Promise<{ partner: PartnerDocument; credentials: StorageCredentials }> {
  const partner = await partners.find(id);
  if (partner.suspendedAt) throw new ProvisioningError('suspended', `${id} is suspended: resume it first`);
  if (partner.oldStorageUser)
    throw new ProvisioningError(
      'rotating',
      `the storage keys of ${id} from before the last rotation still work: headrace admin storage-key retire --partner ${id}`,
    );
  if (issuer.isManual)
    throw new ProvisioningError(
      'not_configured',
      `HEADRACE_S3_ISSUER is manual: create new keys for ${partner.storageUser} in your storage`,
    );
  // Left by an interrupted rotation: its keys were never issued, and it may not exist.
  if (partner.nextStorageUser) await issuer.revoke(userOf(partner, partner.nextStorageUser)).catch(() => {});
  const next = newStorageUser();
  await partners.planStorageUser(id, next);
  const credentials = (await issuer
    .issue(userOf(partner, next))
    .catch(failed('the storage keys are the same as before'))) as StorageCredentials;
  await partners.promoteStorageUser(partner, next);
  return { partner, credentials };
}

export async function retireStorageKey(
  { partners }: Stores,
  issuer: StorageIssuer,
  id: string,
): Promise<PartnerDocument> {
  const partner = await partners.find(id);
  if (!partner.oldStorageUser)
    throw new ProvisioningError('rotating', `${id} has no old storage keys: rotate them first`);
  await issuer
    .revoke(userOf(partner, partner.oldStorageUser))
    .catch(failed('the old storage keys may still work'));
  await partners.forgetStorageUser(partner, partner.oldStorageUser);
  return partner;
}
