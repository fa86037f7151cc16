/** After a change of HEADRACE_SECRET: seals again whatever is still sealed with an old secret. */
import { sealedWith, secretId } from '../../pipeline/runtime/seal.ts';
import { openCredentials, sealCredentials } from '../../pipeline/sources/credentials.ts';
import { StoreFailure } from '../../pipeline/sources/store-errors.ts';
import type { IdentifierListStore } from '../../pipeline/stores/identifier-lists.ts';
import type { JobStore } from '../../pipeline/stores/jobs/jobs.ts';
import type { RequestResultStore } from '../../pipeline/stores/request-results.ts';
import type { SigningKeyStore } from '../../pipeline/stores/signing-keys.ts';
import type { ApiKeyStore } from '../stores/api-keys.ts';
import type { TokenKeyStore } from '../stores/token-keys.ts';
import type { WebhookStore } from '../stores/webhooks.ts';

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
  {
    jobs,
    apiKeys,
    webhooks,
    tokenKeys,
    signingKeys,
    identifierLists,
    requestResults,
  }: {
    jobs: JobStore;
    apiKeys: ApiKeyStore;
    webhooks: Pick<WebhookStore, 'reseal'>;
    tokenKeys: Pick<TokenKeyStore, 'reseal'>;
    signingKeys: Pick<SigningKeyStore, 'reseal'>;
    identifierLists: Pick<IdentifierListStore, 'reseal'>;
    requestResults: Pick<RequestResultStore, 'reseal'>;
  },
  secrets: readonly Uint8Array[],
): Promise<Rotation> {
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
  const resealedWebhooks = await webhooks.reseal(secrets);
  const resealedTokenKeys = await tokenKeys.reseal(secrets);
  const resealedSigningKeys = await signingKeys.reseal(secrets);
  const resealedRequests = (await identifierLists.reseal(secrets)) + (await requestResults.reseal(secrets));
  const keysToCome = await apiKeys.countOthers(current);
  return {
    resealed,
    unreadable,
    resealedWebhooks,
    resealedTokenKeys,
    resealedSigningKeys,
    resealedRequests,
    keysToCome,
  };
}
