/**
 * Suspends and resumes a partner. The API refuses it first and admits it last, so it never works with half of its rights. Repeat the
 * command to retry a failed step.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ProvisioningError } from '../../pipeline/stores/partners.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import type { ApiStores } from '../stores/api-stores.ts';
import type { StorageIssuer, StoragePartner } from './storage-issuer.ts';

/** Until every process refuses the partner (auth/known.ts) and has stored the jobs accepted before. */
const REFUSED_MS = 5_000;

/** The storage users of a partner: two while its keys are rotated. */
const usersOf = ({ _id: id, prefix, storageUser, oldStorageUser }: PartnerDocument): StoragePartner[] =>
  [storageUser, oldStorageUser].flatMap((user) => (user ? [{ id, prefix, storageUser: user }] : []));

/** Returns false if the issuer cannot do it. */
async function changeStorage(
  issuer: StorageIssuer,
  how: 'suspend' | 'resume',
  partner: PartnerDocument,
): Promise<boolean> {
  if (!issuer[how]) return false;
  try {
    for (const user of usersOf(partner)) await issuer[how](user);
  } catch (cause) {
    throw new ProvisioningError(
      'storage_failed',
      how === 'suspend'
        ? `the API refuses ${partner._id}, but its storage keys still work: ${(cause as Error).message}; repeat the command`
        : `${partner._id} is still suspended: its storage keys could not be enabled again: ${(cause as Error).message}`,
      { cause },
    );
  }
  return true;
}

/**
 * Accepted jobs run to their end unless cancelled: a waiting job would hold up later ones.
 */
export async function suspendPartner(
  { partners, jobs }: Pick<ApiStores, 'partners' | 'jobs'>,
  issuer: StorageIssuer,
  id: string,
  { cancelJobs }: { cancelJobs: boolean },
): Promise<{ partner: PartnerDocument; isStorageSuspended: boolean; cancelled: number }> {
  const partner = await partners.suspend(id);
  let cancelled = cancelJobs ? await jobs.requestCancelAll(id) : 0;
  const isStorageSuspended = await changeStorage(issuer, 'suspend', partner);
  if (cancelJobs) {
    await sleep(REFUSED_MS);
    cancelled += await jobs.requestCancelAll(id);
  }
  return { partner, isStorageSuspended, cancelled };
}

export async function resumePartner(
  { partners }: Pick<ApiStores, 'partners'>,
  issuer: StorageIssuer,
  id: string,
): Promise<{ partner: PartnerDocument; isStorageResumed: boolean }> {
  const isStorageResumed = await changeStorage(issuer, 'resume', await partners.find(id));
  return { partner: await partners.resume(id), isStorageResumed };
}
