/** After a change of HEADRACE_SECRET: seals again whatever is still sealed with an old secret. */
import { sealedWith, secretId } from '../../pipeline/runtime/seal.ts';
import { openCredentials, sealCredentials } from '../../pipeline/sources/credentials.ts';
import { StoreFailure } from '../../pipeline/sources/store-errors.ts';
import type { ApiStores } from '../stores/api-stores.ts';

export interface Rotation {
  /** Jobs whose credentials were sealed again. */
  resealed: number;
  /** Jobs whose credentials no configured secret can open: they will end with `bad_credentials`. */
  unreadable: number[];
  /** Webhooks whose secrets were sealed again. */
  resealedWebhooks: number;
  /** Keys of user tokens whose secrets were sealed again. */
  resealedTokenKeys: number;
  /** Keys that sign receipts. */
  resealedSigningKeys: number;
  /** Identifier lists of waiting privacy requests (in parts), and answers to access requests. */
  resealedRequests: number;
  /** API keys that are rehashed at their next use; until then they need the old secret. */
  keysToCome: number;
}

/** Idempotent. May run beside the service: a job that ends meanwhile keeps no credentials. */
export async function rotateSecret(
  stores: Pick<
    ApiStores,
    'jobs' | 'apiKeys' | 'webhooks' | 'tokenKeys' | 'signingKeys' | 'identifierLists' | 'requestResults'
  >,
  secrets: readonly Uint8Array[],
): Promise<Rotation> {
  const { jobs } = stores;
  const [current] = secrets as [Uint8Array];
  let resealed = 0;
  const unreadable: number[] = [];
  for await (const job of jobs.withCredentials()) {
    if (sealedWith(job.credentials) === secretId(current)) continue;
    try {
      const credentials = sealCredentials(current, job, openCredentials(secrets, job));
      if (await jobs.replaceCredentials(job, credentials)) resealed++;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      unreadable.push(job._id);
    }
  }
  return {
    resealed,
    unreadable,
    resealedWebhooks: await stores.webhooks.reseal(secrets),
    resealedTokenKeys: await stores.tokenKeys.reseal(secrets),
    resealedSigningKeys: await stores.signingKeys.reseal(secrets),
    resealedRequests:
      (await stores.identifierLists.reseal(secrets)) + (await stores.requestResults.reseal(secrets)),
    keysToCome: await stores.apiKeys.countOthers(current),
  };
}
